package partition

import (
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// readFS counts the bytes that are read from the files that are opened by it.
type readFS struct {
	vfs.FS
	bytes atomic.Int64
}

// Open opens a file to read.
func (f *readFS) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, o...)
	if err != nil {
		return nil, err
	}
	return &readFile{file, f}, nil
}

type readFile struct {
	vfs.File
	fs *readFS
}

func (f *readFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.fs.bytes.Add(int64(n))
	return n, err
}

func (f *readFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(p, at)
	f.fs.bytes.Add(int64(n))
	return n, err
}
