package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
)

func newBytes(b []byte) io.ReadSeeker { return bytes.NewReader(b) }

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

// hashAll hashes the files of a checkpoint. It forgets the hashes of tables that are no longer in
// it: compactions make new tables for as long as a node lives.
func (r *Repository) hashAll(dir string, files []File, progress *meter) (err error) {
	existing := map[string]bool{}
	for i := range files {
		f := &files[i]
		if f.SHA256, err = r.hash(dir, f, progress); err != nil {
			return err
		}
		existing[r.o.FS.PathJoin(dir, f.Name)] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.hashes, func(at string, _ hashed) bool { return r.o.FS.PathDir(at) == dir && !existing[at] })
	return nil
}

// hash returns the hash of a file's content. It remembers the hashes of tables, which never change:
// the next checkpoint links the same ones.
func (r *Repository) hash(dir string, f *File, progress *meter) (string, error) {
	at := r.o.FS.PathJoin(dir, f.Name)
	info, err := r.o.FS.Stat(at)
	if err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	table := path.Ext(f.Name) == ".sst"
	if table {
		r.mu.Lock()
		h, ok := r.hashes[at]
		r.mu.Unlock()
		if ok && h.size == f.Size && h.at.Equal(info.ModTime()) {
			progress.add(f.Size)
			return h.sha, nil
		}
	}
	file, err := r.o.FS.Open(at)
	if err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(sum, progress), file)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("snapshot: reading %s: %w", at, err)
	}
	if n != f.Size {
		return "", fmt.Errorf("snapshot: %s has %d bytes and not %d: it changed while it was copied", at, n, f.Size)
	}
	sha := hex.EncodeToString(sum.Sum(nil))
	if table {
		r.mu.Lock()
		r.hashes[at] = hashed{f.Size, info.ModTime(), sha}
		r.mu.Unlock()
	}
	return sha, nil
}

// upload gives each file of m an object: that of base or another that will not be pruned meanwhile,
// or a new one.
func (r *Repository) upload(ctx context.Context, m, base *Manifest, dir string, o CreateOptions, s *Stats) error {
	prefix := partitionPrefix(m.Partition)
	existing := map[string]Object{}
	if err := r.bucket.List(ctx, prefix+filesPrefix, func(o Object) error {
		existing[o.Key[len(prefix):]] = o
		return nil
	}); err != nil {
		return err
	}
	known := map[string]string{} // objects that the current manifest names, by hash
	if base != nil {
		for i := range base.Files {
			known[base.Files[i].SHA256] = base.Files[i].Object
		}
	}
	var missing []*File
	var total int64
	for i := range m.Files {
		f := &m.Files[i]
		if f.Object = ""; !o.Full {
			f.Object = r.reuse(existing, known, prefix, f)
		}
		if f.Object == "" {
			f.Object = fileKey(f.SHA256, r.o.Now())
			missing = append(missing, f)
			total += f.Size
		}
	}
	if o.MaxUpload > 0 && total > o.MaxUpload {
		return fmt.Errorf("partition %d, %d bytes: %w", m.Partition, total, ErrTooLarge)
	}
	progress := r.meter(o.Report, PhaseUpload, total)
	g, ctx := guard.WithContext(ctx)
	g.SetLimit(r.o.Parallel)
	for _, f := range missing {
		g.Go("uploading "+f.Name, func() error {
			if err := r.put(ctx, prefix+f.Object, r.o.FS.PathJoin(dir, f.Name), f.Size); err != nil {
				return err
			}
			atomic.AddInt64(&s.UploadedFiles, 1)
			atomic.AddInt64(&s.UploadedBytes, f.Size)
			progress.add(f.Size)
			return nil
		})
	}
	return g.Wait()
}

// reuse returns an existing object with the content of f that prune will not remove, or "". Prune
// keeps an object that the current manifest names, and if another manifest becomes current, the new
// one is not written. Prune keeps an object that no manifest names until it is as old as the grace
// period. A creator that starts when the object has half that age is done long before.
func (r *Repository) reuse(existing map[string]Object, known map[string]string, prefix string, f *File) string {
	usable := func(key string) bool {
		o, ok := existing[key]
		r.mu.Lock()
		_, bad := r.suspect[prefix+key]
		r.mu.Unlock()
		return ok && o.Size == f.Size && !bad
	}
	if key, ok := known[f.SHA256]; ok && usable(key) {
		return key
	}
	for key, o := range existing {
		if strings.HasPrefix(key, filesPrefix+f.SHA256) && isObject(key, f.SHA256) && usable(key) && r.o.Now().Sub(o.Modified) < r.o.Grace/2 {
			return key
		}
	}
	return ""
}

func (r *Repository) put(ctx context.Context, key, from string, size int64) error {
	file, err := r.o.FS.Open(from)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	err = r.bucket.Put(ctx, key, io.NewSectionReader(file, 0, size), size)
	return errors.Join(err, file.Close())
}
