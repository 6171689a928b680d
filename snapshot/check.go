package snapshot

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/tidemark/tidemark/projections"
)

// A store is checked before it becomes a snapshot. A whole check reads all records and compares
// their digest with that of the header. It costs as much as the store is large, so between two of
// them only what is new is read: the blocks of tables that no check has read yet, against their
// checksums. A table never changes, and what the bucket has of it was checked when it was uploaded.
//
// What a check of blocks does not see is a wrong record with a right checksum. The next whole check
// sees it, and until then Prune keeps the last snapshot that was checked whole (prune.go).

// check is a whole check of a store.
type check struct {
	at        time.Time
	partition int32
	v         projections.Position
}

// describe checks a checkpoint and returns its manifest, without objects. whole says that the check
// was a whole one.
func (r *Repository) describe(dir string, o CreateOptions) (m *Manifest, whole bool, err error) {
	files, err := r.files(dir)
	if err != nil {
		return nil, false, err
	}
	r.meter(o.Report, PhaseCheck, 0)
	inspect := projections.InspectHeader
	if whole = o.Full || r.wholeDue(dir, files); whole {
		inspect = projections.Inspect
	}
	x, err := inspect(dir, r.o.FS)
	if err != nil {
		return nil, whole, fmt.Errorf("snapshot: the store cannot be copied: %w", err)
	}
	if err := r.hashAll(dir, files, whole, o.Report); err != nil {
		return nil, whole, err
	}
	m = newManifest(x, r.o.Now())
	m.Files = files
	return m, whole, nil
}

// wholeDue reports whether the store is to be checked whole: there was no such check, it is too
// long ago, or most bytes of its tables are new, so that it costs little more.
func (r *Repository) wholeDue(dir string, files []File) bool {
	var fresh, total int64
	for i := range files {
		if !isTable(&files[i]) {
			continue
		}
		total += files[i].Size
		if _, ok := r.known(dir, &files[i]); !ok {
			fresh += files[i].Size
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.whole[dir]
	return !ok || r.o.Now().Sub(last.at) >= r.o.CheckEvery || 2*fresh > total
}

// checked notes that a store that was checked whole has become the snapshot m.
func (r *Repository) checked(m *Manifest, dir string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.whole[dir] = check{at, m.Partition, m.Position()}
}

// isChecked reports whether m is the last snapshot of a store that was checked whole.
func (r *Repository) isChecked(m *Manifest) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, last := range r.whole {
		if last.partition == m.Partition && last.v == m.Position() {
			return true
		}
	}
	return false
}

// files returns the files of a checkpoint, ordered by name.
func (r *Repository) files(dir string) ([]File, error) {
	names, err := r.o.FS.List(dir)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	var files []File
	for _, name := range names {
		if name == "LOCK" {
			continue
		}
		info, err := r.o.FS.Stat(r.o.FS.PathJoin(dir, name))
		if err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
		if info.IsDir() || !plainName(name) {
			return nil, fmt.Errorf("snapshot: %s in the checkpoint is not a file of a store", name)
		}
		files = append(files, File{Name: name, Size: info.Size()})
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return files, nil
}

// hashed is the hash of a table, valid while the file is the same.
type hashed struct {
	size int64
	at   time.Time
	sha  string
}

// hashAll hashes the files of a checkpoint, and checks the blocks of tables that are new unless the
// whole store was checked. It forgets the hashes of tables that are no longer in the checkpoint:
// compactions make new tables for as long as a node lives.
func (r *Repository) hashAll(dir string, files []File, whole bool, report Report) error {
	var total int64
	for i := range files {
		total += files[i].Size
	}
	progress := r.meter(report, PhaseHash, total)
	existing := map[string]bool{}
	for i := range files {
		f := &files[i]
		existing[r.o.FS.PathJoin(dir, f.Name)] = true
		if h, ok := r.known(dir, f); ok {
			f.SHA256 = h.sha
			progress.add(f.Size)
			continue
		}
		if isTable(f) && !whole {
			if err := projections.CheckTable(r.o.FS.PathJoin(dir, f.Name), r.o.FS); err != nil {
				return fmt.Errorf("snapshot: the store cannot be copied: %w", err)
			}
		}
		if err := r.hash(dir, f, progress); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.hashes, func(at string, _ hashed) bool { return r.o.FS.PathDir(at) == dir && !existing[at] })
	return nil
}

func isTable(f *File) bool { return path.Ext(f.Name) == ".sst" }

// known returns the hash of a table that was checked and hashed before: the next checkpoint links
// the same file.
func (r *Repository) known(dir string, f *File) (h hashed, ok bool) {
	at := r.o.FS.PathJoin(dir, f.Name)
	r.mu.Lock()
	h, ok = r.hashes[at]
	r.mu.Unlock()
	if !ok {
		return h, false
	}
	info, err := r.o.FS.Stat(at)
	return h, err == nil && h.size == info.Size() && h.at.Equal(info.ModTime())
}

// hash gives a file the hash of its content, and remembers that of a table.
func (r *Repository) hash(dir string, f *File, progress *meter) error {
	at := r.o.FS.PathJoin(dir, f.Name)
	info, err := r.o.FS.Stat(at)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	file, err := r.o.FS.Open(at)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(sum, progress), file)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("snapshot: reading %s: %w", at, err)
	}
	if n != f.Size {
		return fmt.Errorf("snapshot: %s has %d bytes and not %d: it changed while it was copied", at, n, f.Size)
	}
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if isTable(f) {
		r.mu.Lock()
		r.hashes[at] = hashed{f.Size, info.ModTime(), f.SHA256}
		r.mu.Unlock()
	}
	return nil
}
