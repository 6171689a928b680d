package store

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
)

// CorruptError says that a store holds something else than was written to it. It is not opened, and
// nothing of it is of use: its directory is to be moved away, and the store rebuilt from a snapshot
// or the topics.
type CorruptError struct {
	Dir string
	Err error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("store %s: corrupt: %v; move the directory away to rebuild from the topics", e.Dir, e.Err)
}

// Unwrap is what was found.
func (e *CorruptError) Unwrap() error { return e.Err }

// IsCorrupt reports whether err, of Open or of Partition.Err, says that what the store holds is
// wrong, as opposed to disks that fail or are full, and stores that belong to something else.
func IsCorrupt(err error) bool {
	var c *CorruptError
	return errors.As(err, &c) || pebble.IsCorruptionError(err)
}

// IsCorruption reports whether Pebble refused to open what it found: bytes that are wrong, or files
// that are missing.
func IsCorruption(err error) bool {
	var otherLog pebble.ErrMissingWALRecoveryDir // no store of ours has its log in another directory
	return pebble.IsCorruptionError(err) || errors.As(err, &otherLog) || errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, pebble.ErrDBNotPristine) || // there are tables, and the marker of their format is missing
		strings.Contains(err.Error(), "unknown to the objstorage provider") || // what Pebble says of a table that is missing
		strings.Contains(err.Error(), "object size mismatch") || // and of one that is cut off
		strings.Contains(err.Error(), "name from file") // and of options that are not those of any store of ours
}

// IsLocked reports whether somebody else has a store open: another process, or this one.
func IsLocked(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || err != nil && strings.Contains(err.Error(), "lock held")
}

// IsIO reports whether err comes from the file system, which says nothing about what is stored.
func IsIO(err error) bool {
	var path *fs.PathError
	var number syscall.Errno
	return errors.As(err, &path) || errors.As(err, &number)
}
