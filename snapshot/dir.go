package snapshot

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/tidemark/tidemark/internal/private"
)

// dirBucket is a directory, local or mounted. Objects are files; a file is written under a
// temporary name, synced and renamed. Conditional writes hold a lock file from the check to the
// rename, so they are atomic among all processes that share the directory's locks (on a network
// file system: if it supports flock).
type dirBucket struct{ root string }

// tempMark begins the names of files that are being written; lockName is the name of the lock.
// Neither is an object.
const (
	tempMark = ".writing-"
	lockName = ".lock"
)

func openDir(u *url.URL) (Bucket, error) {
	if u.Host != "" || !filepath.IsAbs(u.Path) || u.RawQuery != "" {
		return nil, fmt.Errorf("snapshots: %q does not name a directory: write file:///absolute/dir", u.Redacted())
	}
	if err := makeRoot(u.Path); err != nil {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	return &dirBucket{filepath.Clean(u.Path)}, nil
}

// makeRoot creates the directory of the snapshots with private.DirMode, whatever the umask. An
// existing directory keeps its permissions: it may be mounted, or have files of others.
func makeRoot(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(path, private.DirMode); err != nil {
		return err
	}
	return os.Chmod(path, private.DirMode)
}

func (d *dirBucket) String() string { return "file://" + filepath.ToSlash(d.root) }

func (d *dirBucket) path(key string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(key)) {
		return "", fmt.Errorf("snapshots: key %q leaves %s", key, d)
	}
	return filepath.Join(d.root, filepath.FromSlash(key)), nil
}

func (d *dirBucket) Put(ctx context.Context, key string, r io.ReadSeeker, size int64) error {
	path, err := d.path(key)
	if err != nil {
		return err
	}
	temp, err := d.write(ctx, path, io.LimitReader(r, size), size)
	if err != nil {
		return err
	}
	return d.publish(temp, path)
}

// write creates a synced temporary file beside path.
func (d *dirBucket) write(ctx context.Context, path string, r io.Reader, size int64) (temp string, err error) {
	if err := d.mkdir(filepath.Dir(path)); err != nil {
		return "", err
	}
	temp = filepath.Join(filepath.Dir(path), tempMark+rand.Text())
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, private.FileMode)
	if err != nil {
		return "", fmt.Errorf("snapshots: %w", err)
	}
	n, err := io.Copy(f, &contextReader{ctx, r})
	if err == nil && n != size {
		err = fmt.Errorf("%d bytes instead of %d: %w", n, size, io.ErrUnexpectedEOF)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("snapshots: writing %s: %w", path, err), os.Remove(temp))
	}
	return temp, nil
}

// publish gives a written file its name, durably.
func (d *dirBucket) publish(temp, path string) error {
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(fmt.Errorf("snapshots: %w", err), os.Remove(temp))
	}
	return syncDir(filepath.Dir(path))
}

// mkdir creates a directory below the root, durably.
func (d *dirBucket) mkdir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		if dir != d.root {
			private.Tighten(dir)
		}
		return nil
	}
	if err := os.MkdirAll(dir, private.DirMode); err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	for at := dir; at != d.root && strings.HasPrefix(at, d.root); at = filepath.Dir(at) {
		if err := syncDir(filepath.Dir(at)); err != nil {
			return err
		}
	}
	return nil
}

func (d *dirBucket) PutIf(ctx context.Context, key string, data []byte, version string) error {
	path, err := d.path(key)
	if err != nil {
		return err
	}
	temp, err := d.write(ctx, path, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	unlock, err := lockFile(filepath.Join(d.root, lockName))
	if err != nil {
		return errors.Join(fmt.Errorf("snapshots: locking %s: %w", d.root, err), os.Remove(temp))
	}
	defer unlock()
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return errors.Join(notRegular(path, info), os.Remove(temp))
	}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("snapshots: %w", err), os.Remove(temp))
	}
	if exists := err == nil; exists != (version != "") || exists && contentVersion(old) != version {
		return errors.Join(fmt.Errorf("snapshots: %s: %w", path, ErrConflict), os.Remove(temp))
	}
	return d.publish(temp, path)
}

func (d *dirBucket) Get(_ context.Context, key string) (io.ReadCloser, Object, error) {
	path, err := d.path(key)
	if err != nil {
		return nil, Object{}, err
	}
	// Opening a pipe would block, and a link could lead anywhere. Only the owner of the directory
	// could put one there between this check and the opening.
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, Object{}, notRegular(path, info)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Object{}, fmt.Errorf("snapshots: %s: %w", path, ErrNotExist)
	}
	if err != nil {
		return nil, Object{}, fmt.Errorf("snapshots: %w", err)
	}
	o, err := d.object(key, f)
	if err != nil {
		return nil, Object{}, errors.Join(err, f.Close())
	}
	return f, o, nil
}

// notRegular refuses everything but regular files.
func notRegular(path string, info fs.FileInfo) error {
	return fmt.Errorf("snapshots: %s is not a regular file (%s), and snapshots have only regular files: remove it", path, info.Mode().Type())
}

// versioned is the size up to which a file's content is its version. Larger files are never written
// conditionally.
const versioned = 16 << 20

func (d *dirBucket) object(key string, f *os.File) (Object, error) {
	info, err := f.Stat()
	if err != nil {
		return Object{}, fmt.Errorf("snapshots: %w", err)
	}
	if !info.Mode().IsRegular() {
		return Object{}, notRegular(f.Name(), info)
	}
	o := Object{Key: key, Size: info.Size(), Modified: info.ModTime(), Version: "-"}
	if o.Size <= versioned && strings.HasSuffix(key, manifestSuffix) {
		data := make([]byte, o.Size)
		if _, err := f.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
			return Object{}, fmt.Errorf("snapshots: %w", err)
		}
		o.Version = contentVersion(data)
	}
	return o, nil
}

func contentVersion(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (d *dirBucket) List(ctx context.Context, prefix string, fn func(Object) error) error {
	// The deepest directory that contains all of these objects.
	start, err := d.path(prefix[:strings.LastIndexByte(prefix, '/')+1] + ".")
	if err != nil {
		return err
	}
	return filepath.WalkDir(start, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it was removed meanwhile, or there is nothing yet
		case err != nil:
			return fmt.Errorf("snapshots: %w", err)
		case ctx.Err() != nil:
			return ctx.Err()
		case !e.Type().IsRegular() || e.Name() == lockName:
			return nil
		}
		rel, err := filepath.Rel(d.root, path)
		if err != nil {
			return err
		}
		key := filepath.ToSlash(rel)
		if !strings.HasPrefix(key, prefix) {
			return nil
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("snapshots: %w", err)
		}
		return fn(Object{Key: key, Size: info.Size(), Modified: info.ModTime(), Version: "-"})
	})
}

func (d *dirBucket) Delete(_ context.Context, key string) error {
	path, err := d.path(key)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("snapshots: %w", err)
	}
	return nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("snapshots: syncing %s: %w", dir, err)
	}
	return nil
}

// contextReader ends with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
