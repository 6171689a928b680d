package home

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// UnusedSince returns the time since which the store in dir is unused, from the mark beside it. If
// there is no readable mark, UnusedSince writes one with the present time, and noted is false.
// noted is also false if there is no store.
func UnusedSince(fs vfs.FS, dir string, now time.Time) (since time.Time, noted bool, err error) {
	if err := fs.RemoveAll(beside(dir, removingMark)); err != nil { // left from a removal that a crash interrupted
		return since, false, err
	}
	if !hasStore(fs, dir) && !hasStore(fs, beside(dir, replacedMark)) {
		return since, false, nil
	}
	since, err = readMark(fs, beside(dir, unusedMark))
	if err != nil || since.After(now) {
		return since, false, writeMark(fs, beside(dir, unusedMark), now)
	}
	return since, true, nil
}

// RemoveUnused removes the store in dir, unless it was opened after the call of UnusedSince that
// returned since.
func RemoveUnused(fs vfs.FS, dir string, since time.Time) (removed bool, err error) {
	if !stillUnused(fs, dir, since) {
		return false, nil
	}
	if err := removeStore(fs, dir); err != nil {
		return false, err
	}
	return true, nil
}

// stillUnused reports whether the mark beside the store still has the time since. Opening a store
// removes its mark.
func stillUnused(fs vfs.FS, dir string, since time.Time) bool {
	noted, err := readMark(fs, beside(dir, unusedMark))
	return err == nil && noted.Equal(since)
}

// removeStore removes a store that no process uses, and the leftovers of an interrupted restore
// beside it: the replaced store and a partial snapshot.
func removeStore(fs vfs.FS, dir string) error {
	removing := beside(dir, removingMark)
	if hasStore(fs, dir) {
		store, err := projections.OpenStopped(dir, fs)
		if err != nil {
			return err
		}
		err = snapshot.MoveAside(fs, dir, removing)
		if err = errors.Join(err, store.Close(), fs.RemoveAll(removing)); err != nil {
			return err
		}
	}
	if aside := beside(dir, replacedMark); hasStore(fs, aside) {
		if err := discard(fs, aside, removing); err != nil {
			return err
		}
	}
	return errors.Join(fs.RemoveAll(beside(dir, restoringMark)), fs.RemoveAll(beside(dir, unusedMark)))
}

// readMark reads the time since which a store is unused.
func readMark(fs vfs.FS, name string) (at time.Time, err error) {
	f, err := fs.Open(name)
	if err != nil {
		return at, err
	}
	b, err := io.ReadAll(io.LimitReader(f, 100))
	if err = errors.Join(err, f.Close()); err != nil {
		return at, err
	}
	return time.Parse(time.RFC3339, strings.TrimSpace(string(b)))
}

// writeMark records that a store is unused from now on. If a crash loses the mark, the time starts
// again.
func writeMark(fs vfs.FS, name string, at time.Time) error {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, at.UTC().Format(time.RFC3339))
	return errors.Join(err, f.Close())
}
