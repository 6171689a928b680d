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

// UnusedSince returns the time from the note beside the store in dir: since then the store is not
// used. If there is no readable note, it writes one with the present time and noted is false; noted
// is also false if there is no store.
func UnusedSince(fs vfs.FS, dir string, now time.Time) (since time.Time, noted bool, err error) {
	if err := fs.RemoveAll(beside(dir, removingMark)); err != nil { // of a removal that a crash cut short
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

// RemoveUnused removes the store in dir, unless it was opened after since, when UnusedSince was
// asked.
func RemoveUnused(fs vfs.FS, dir string, since time.Time) (removed bool, err error) {
	if !stillUnused(fs, dir, since) {
		return false, nil
	}
	if err := removeStore(fs, dir); err != nil {
		return false, err
	}
	return true, nil
}

// stillUnused reports whether the note beside the store still says since. Opening a store removes
// its note.
func stillUnused(fs vfs.FS, dir string, since time.Time) bool {
	noted, err := readMark(fs, beside(dir, unusedMark))
	return err == nil && noted.Equal(since)
}

// removeStore removes a store that no process uses, and what a restore has left beside it that a
// crash cut short: the store that was replaced, and a snapshot in part.
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

// readMark reads since when a store is not used.
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

// writeMark notes that a store is not used from now on. If a crash takes the note, the time begins
// anew.
func writeMark(fs vfs.FS, name string, at time.Time) error {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, at.UTC().Format(time.RFC3339))
	return errors.Join(err, f.Close())
}
