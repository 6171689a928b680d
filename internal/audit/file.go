package audit

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/tidemark/tidemark/internal/private"
	"github.com/tidemark/tidemark/internal/reread"
)

// Stderr is the name of standard error.
const Stderr = "-"

// file receives the lines. One goroutine uses it.
type file struct {
	name  string
	out   io.Writer // standard error; nil: f
	f     *os.File
	moved reread.Files
	torn  bool // the last line is incomplete, and could not be removed
	write func(f *os.File, line []byte) (int, error)
}

func openFile(name string, stderr io.Writer) (*file, error) {
	if name == Stderr {
		return &file{out: stderr}, nil
	}
	f := &file{name: name, write: (*os.File).Write}
	f.moved.Begin(time.Now(), name)
	var err error
	f.f, err = open(name)
	return f, err
}

// open opens a file to append to, which only its owner may read.
func open(name string) (*os.File, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the audit log %s is not a regular file: name another, or %s for standard error", name, Stderr)
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, private.FileMode)
	if err != nil {
		return nil, fmt.Errorf("the audit log cannot be opened: %w; make its directory, and let this process write there", err)
	}
	info, err := f.Stat()
	if err == nil && info.Mode().Perm() != private.FileMode {
		err = f.Chmod(private.FileMode)
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("the audit log must be readable for its owner alone: %w; move the file away, or give it to this user", err)
	}
	return f, nil
}

// follow opens the file again if its name now belongs to another file, or to none. While that
// fails, it writes to the old file.
func (f *file) follow(now time.Time) error {
	if f.f == nil || !f.moved.Look(now) {
		return nil
	}
	there, err := os.Stat(f.name)
	mine, bad := f.f.Stat()
	if err == nil && bad == nil && os.SameFile(there, mine) {
		return nil
	}
	next, err := open(f.name)
	if err != nil {
		return err
	}
	_ = f.f.Close() // every line of it was written
	f.f, f.torn = next, false
	return nil
}

// append writes one complete line, or nothing.
func (f *file) append(line []byte) error {
	if f.f == nil {
		_, err := f.out.Write(line)
		return err
	}
	if f.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := f.write(f.f, line)
	if err == nil {
		f.torn = false
		return nil
	}
	if n > 0 {
		f.torn = f.takeBack(int64(n)) != nil || f.torn
	}
	return err
}

// takeBack removes the last n bytes, which an incomplete write left on a full disk.
func (f *file) takeBack(n int64) error {
	info, err := f.f.Stat()
	if err != nil {
		return err
	}
	return f.f.Truncate(info.Size() - n)
}

func (f *file) close() error {
	if f.f == nil {
		return nil
	}
	return f.f.Close()
}
