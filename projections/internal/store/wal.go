package store

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TrimLog cuts off what follows the last record of the newest log in dir, which is a copy of a
// store. Pebble writes its logs into the files of logs that it no longer needs, so what follows may
// be as large as a memtable, and worth nothing. A log in which a record is damaged stays as it is,
// for whoever opens the copy to find.
func TrimLog(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("store %s: %w", dir, err)
	}
	newest, number := "", uint64(0)
	for _, name := range names {
		if path.Ext(name) != ".log" {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSuffix(name, ".log"), 10, 64)
		if err != nil { // a log in several files, which Options never ask for
			continue
		}
		if newest == "" || n > number {
			newest, number = name, n
		}
	}
	if newest == "" {
		return nil
	}
	if err := trimLog(fs, fs.PathJoin(dir, newest), number); err != nil {
		return fmt.Errorf("store %s: trimming its log %s: %w", dir, newest, err)
	}
	return nil
}

func trimLog(fs vfs.FS, log string, number uint64) error {
	file, err := fs.Open(log, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	end, err := endOfLog(file, number)
	if err != nil || end < 0 {
		return errors.Join(err, file.Close())
	}
	info, err := file.Stat()
	if err != nil || info.Size() <= end {
		return errors.Join(err, file.Close())
	}
	short := log + ".short"
	to, err := fs.Create(short, vfs.WriteCategoryUnspecified)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	_, err = io.Copy(to, io.NewSectionReader(file, 0, end))
	if err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close(), file.Close()); err != nil {
		return errors.Join(err, fs.Remove(short))
	}
	return fs.Rename(short, log)
}

// endOfLog returns where the last record of a log ends, or -1 if a record is damaged.
func endOfLog(file io.Reader, number uint64) (end int64, err error) {
	for r := readLog(record.NewReader, file, number); ; {
		end = r.Offset()
		rec, err := r.Next()
		if err == nil {
			_, err = io.Copy(io.Discard, rec)
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, record.ErrUnexpectedEOF):
			return end, nil
		case errors.Is(err, record.ErrInvalidChunk), errors.Is(err, record.ErrZeroedChunk):
			return -1, nil
		default:
			return 0, err
		}
	}
}

// readLog calls record.NewReader, whose second parameter is of a type that Pebble does not export.
func readLog[N ~uint64](open func(io.Reader, N) *record.Reader, file io.Reader, number uint64) *record.Reader {
	return open(file, N(number))
}
