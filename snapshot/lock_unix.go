//go:build unix

package snapshot

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tidemark/tidemark/internal/private"
)

// lockFile waits for the lock of a file, and creates the file if needed. The lock ends with the
// process.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, private.FileMode)
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}
