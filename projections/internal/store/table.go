package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/internal/guard"
)

// CheckTable reads the table in the file at path and compares the checksum of each of its blocks.
// It needs no open database. IsCorrupt tells a block that differs from a disk that fails.
func CheckTable(path string, fs vfs.FS) error {
	return guard.Err("checking a table", func() error { return checkTable(path, fs) })
}

func checkTable(path string, fs vfs.FS) error {
	file, err := fs.Open(path)
	if err != nil {
		return fmt.Errorf("table %s: %w", path, err)
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return errors.Join(fmt.Errorf("table %s: %w", path, err), file.Close())
	}
	var o pebble.Options
	o.EnsureDefaults()
	r, err := sstable.NewReader(context.Background(), readable, o.MakeReaderOptions()) // closes readable if it fails
	if err == nil {
		err = errors.Join(r.ValidateBlockChecksums(), r.Close())
	}
	if err != nil {
		return fmt.Errorf("table %s: %w", path, err)
	}
	return nil
}
