package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/projections"
)

// DamagedError means that a file of a snapshot differs from its manifest.
type DamagedError struct {
	Where  string // the object, or the directory it was downloaded to
	Reason string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("snapshot %s is damaged: %s", e.Where, e.Reason)
}

// Fits reports whether a snapshot has the identity want. If not, the error names the difference, as
// for a store.
func (e *Entry) Fits(want projections.Identity) error {
	if e.Err != nil {
		return e.Err
	}
	return projections.CheckIdentity(e.Key, e.Manifest.Store, e.Manifest.Fold, e.Manifest.Identity(), want)
}

// Download writes the store of a snapshot to dir, which it removes first if it exists, and checks
// all of it: the size and hash of each file, that the store opens and has the manifest's identity,
// versions and position, and the digest of all its records. After an error the content of dir is
// useless. A *DamagedError means that the snapshot is bad; other errors may pass. Several downloads
// run side by side, up to Options.Restores; a further one first waits, and reports no progress yet.
func (r *Repository) Download(ctx context.Context, m *Manifest, dir string, report Report) error {
	select {
	case r.restores <- struct{}{}:
		defer func() { <-r.restores }()
	case <-ctx.Done():
		return ctx.Err()
	}
	fs := r.o.FS
	if err := fs.RemoveAll(dir); err != nil {
		return fmt.Errorf("restoring: %w", err)
	}
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("restoring: %w", err)
	}
	progress := r.meter(report, PhaseDownload, m.Bytes())
	g, gctx := guard.WithContext(ctx)
	g.SetLimit(r.o.Parallel)
	for i := range m.Files {
		g.Go("bringing "+m.Files[i].Name, func() error { return r.fetch(gctx, m, &m.Files[i], dir, progress) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := syncLocal(fs, dir); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.meter(report, PhaseCheck, 0)
	return r.check(m, dir)
}

// fetch downloads one file.
func (r *Repository) fetch(ctx context.Context, m *Manifest, f *File, dir string, progress *meter) error {
	key := partitionPrefix(m.Partition) + f.Object
	damaged := func(format string, args ...any) error {
		r.mu.Lock()
		r.suspect[key] = struct{}{}
		r.mu.Unlock()
		return &DamagedError{r.bucket.String() + "/" + key, fmt.Sprintf(format, args...)}
	}
	var open []io.Closer
	defer func() { // cleans up after a panic
		for _, f := range open {
			_ = f.Close()
		}
	}()
	body, o, err := r.bucket.Get(ctx, key)
	if errors.Is(err, ErrNotExist) {
		return damaged("its file %s is missing", f.Name)
	}
	if err != nil {
		return err
	}
	if o.Size != f.Size {
		return errors.Join(damaged("its file %s has %d bytes instead of %d", f.Name, o.Size, f.Size), body.Close())
	}
	at := r.o.FS.PathJoin(dir, f.Name)
	file, err := r.o.FS.Create(at, vfs.WriteCategoryUnspecified)
	if err != nil {
		return errors.Join(fmt.Errorf("restoring: %w", err), body.Close())
	}
	sum := sha256.New()
	open = []io.Closer{file, body}
	// The file comes last: a vfs.File may modify the bytes that it writes.
	n, err := io.Copy(io.MultiWriter(sum, progress, file), &contextReader{ctx, io.LimitReader(body, f.Size)})
	if err == nil {
		err = file.Sync()
	}
	open = nil
	if err = errors.Join(err, file.Close(), body.Close()); err != nil {
		return fmt.Errorf("restoring %s from %s: %w", at, key, err)
	}
	if n != f.Size {
		return damaged("its file %s has %d bytes instead of %d", f.Name, n, f.Size)
	}
	if sha := hex.EncodeToString(sum.Sum(nil)); sha != f.SHA256 {
		return damaged("its file %s has the hash %s instead of %s", f.Name, sha, f.SHA256)
	}
	return nil
}

// check reads a whole downloaded store.
func (r *Repository) check(m *Manifest, dir string) error {
	where := r.bucket.String() + "/" + partitionPrefix(m.Partition) + Name(m.Position())
	x, err := projections.Inspect(dir, r.o.FS)
	switch {
	case err != nil:
		return &DamagedError{where, err.Error()}
	case hex.EncodeToString(x.Digest[:]) != m.Digest:
		return &DamagedError{where, fmt.Sprintf("the digest of its records is %x, its manifest says %s", x.Digest, m.Digest)}
	case x.Position != m.Position() || x.Identity != m.Identity() || x.Format != m.Store || x.Fold != m.Fold:
		return &DamagedError{where, fmt.Sprintf("its store is another than its manifest says: partition %d of %d at position %v",
			x.Identity.Partition, x.Identity.Partitions, x.Position)}
	}
	return nil
}

// Install moves a downloaded store into place, durably. If there is a store already, Install first
// moves it to aside, which must not exist. A crash in between leaves the old store in aside and
// none in place.
func Install(fs vfs.FS, downloaded, dir, aside string) error {
	if _, err := fs.Stat(dir); err == nil {
		if err := MoveAside(fs, dir, aside); err != nil {
			return err
		}
	}
	return MoveAside(fs, downloaded, dir)
}

// MoveAside renames a directory, durably.
func MoveAside(fs vfs.FS, dir, to string) error {
	if err := fs.Rename(dir, to); err != nil {
		return fmt.Errorf("moving %s to %s: %w", dir, to, err)
	}
	return syncLocal(fs, fs.PathDir(to))
}

func syncLocal(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("restoring: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	return nil
}
