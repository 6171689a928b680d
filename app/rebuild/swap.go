package rebuild

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tidemark/tidemark/internal/private"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// locks are locked stores of a data directory: no process uses them or can open them.
type locks map[int32]*projections.Stopped

// stopFirst is the way out in an error of lock.
const stopFirst = "stop the node first"

// lock locks the existing stores of these partitions. If a process uses one of them, it locks none,
// and the error names the way out.
func lock(dataDir string, numbers []int32, way string) (_ locks, err error) {
	locked := locks{}
	defer func() {
		if err != nil {
			err = errors.Join(err, locked.release())
		}
	}()
	there, err := processor.Stores(dataDir)
	if err != nil {
		return nil, err
	}
	for _, n := range there {
		if !slices.Contains(numbers, n) {
			continue
		}
		dir := processor.StoreDir(dataDir, n)
		s, err := projections.OpenStopped(dir, nil)
		if err != nil {
			return nil, fmt.Errorf("%s is in use: %s, and nothing was changed (%w)", dir, way, err)
		}
		locked[n] = s
	}
	return locked, nil
}

func (l locks) release() (err error) {
	for _, s := range l {
		err = errors.Join(err, s.Close())
	}
	return err
}

// Swap moves the rebuilt stores of these partitions from from into the place of those in dataDir,
// which it moves to aside. It refuses to move anything while a process uses one of either, or if
// one is missing in from. Each store is moved by one rename, so from and aside must be on the file
// system of dataDir. A crash in between leaves a partition with its old store, its new one, or
// none. A node can open each of these: it rebuilds a missing store.
func Swap(dataDir, from string, numbers []int32, aside string) (err error) {
	old, err := lock(dataDir, numbers, stopFirst)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, old.release()) }()
	fresh, err := lock(from, numbers, stopFirst)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fresh.release()) }()
	for _, n := range numbers {
		if fresh[n] == nil {
			return fmt.Errorf("there is no rebuilt store at %s; nothing was changed", processor.StoreDir(from, n))
		}
	}
	if err := private.MkdirAll(aside); err != nil {
		return err
	}
	for _, n := range numbers {
		if err := snapshot.Install(private.FS, processor.StoreDir(from, n), processor.StoreDir(dataDir, n), processor.StoreDir(aside, n)); err != nil {
			return err
		}
	}
	// If nothing was replaced, aside is removed. A directory with content stays.
	_ = os.Remove(aside)
	_ = os.Remove(from)
	return nil
}

// Aside is a directory for the stores that are replaced at a time.
func Aside(dataDir string, at time.Time) string {
	return filepath.Join(dataDir, "replaced-"+at.UTC().Format("20060102T150405Z"))
}
