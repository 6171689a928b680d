package store

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
)

// CorruptError reports that a store's contents are not what was written to it. Such a store is not
// opened, and nothing of it is of use. Move its directory away, and rebuild the store from a
// snapshot or the topics.
type CorruptError struct {
	Dir string
	Err error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("store %s: corrupt: %v; move the directory away to rebuild from the topics", e.Dir, e.Err)
}

// Unwrap returns the underlying error.
func (e *CorruptError) Unwrap() error { return e.Err }

// IsCorrupt reports whether err, of Open or of Partition.Err, is about wrong contents of a store.
// It is false for disks that fail or are full, and for stores that belong to something else.
func IsCorrupt(err error) bool {
	var c *CorruptError
	return errors.As(err, &c) || pebble.IsCorruptionError(err)
}

// IsCorruption reports whether Pebble refused to open a database because of wrong bytes or missing
// files.
func IsCorruption(err error) bool {
	var otherLog pebble.ErrMissingWALRecoveryDir // Tidemark's stores never have their log in another directory
	return pebble.IsCorruptionError(err) || errors.As(err, &otherLog) || errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, pebble.ErrDBNotPristine) || // there are tables, but the marker of their format is missing
		strings.Contains(err.Error(), "unknown to the objstorage provider") || // Pebble's error for a missing table
		strings.Contains(err.Error(), "object size mismatch") || // for a truncated table
		strings.Contains(err.Error(), "name from file") // for options of some other database
}

// IsLocked reports whether another process, or this one, has the store open.
func IsLocked(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || err != nil && strings.Contains(err.Error(), "lock held")
}

// IsIO reports whether err comes from the file system. Such an error has no bearing on the store's
// contents.
func IsIO(err error) bool {
	var path *fs.PathError
	var number syscall.Errno
	return errors.As(err, &path) || errors.As(err, &number)
}
