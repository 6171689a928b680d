package processor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/snapshot"
)

// What lies beside the store of a partition is called like it, with a dot and one of these after it:
const (
	restoringMark  = "restoring"  // a snapshot that is being brought
	replacedMark   = "replaced"   // the store that it takes the place of, whole, until the snapshot's is open
	checkpointMark = "checkpoint" // a copy of the store that is being uploaded
	corruptMark    = "corrupt"    // with the time: a store that was quarantined
	unusedMark     = "unused"     // since when it is not used (moved.go)
	removingMark   = "removing"   // a store that is being removed, perhaps in part

	keepCorrupt = 2 // quarantined stores of a partition
)

// beside is a directory next to a store. No store is called like that.
func beside(dir, mark string) string { return dir + "." + mark }

func (w *worker) fs() vfs.FS { return fsOf(w.cfg) }

func fsOf(c *Config) vfs.FS {
	if c.FS == nil {
		return vfs.Default
	}
	return c.FS
}

func (w *worker) hasStore(dir string) bool { return hasStore(w.fs(), dir) }

// hasStore reports whether there is anything in a directory, or cannot tell.
func hasStore(fs vfs.FS, dir string) bool {
	names, err := fs.List(dir)
	return len(names) > 0 || err != nil && !errors.Is(err, os.ErrNotExist)
}

// Stores lists the partitions that have a store in a data directory, in order.
func Stores(dataDir string) ([]int32, error) { return storesIn(dataDir, "") }

// heldIn is Stores, with the partitions whose store lies beside its place, where a kill has left it while a snapshot was to
// take that.
func heldIn(dataDir string) ([]int32, error) {
	held, err := storesIn(dataDir, "")
	if err != nil {
		return nil, err
	}
	replaced, err := storesIn(dataDir, beside("", replacedMark))
	if err != nil {
		return nil, err
	}
	held = append(held, replaced...)
	slices.Sort(held)
	return slices.Compact(held), nil
}

// storesIn lists the partitions that have a store in a data directory, or a directory beside it whose name goes on with after.
func storesIn(dir, after string) ([]int32, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("the data directory cannot be read (%w): name the right one with --data-dir", err)
	}
	var numbers []int32
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), storePrefix)
		name, marked := strings.CutSuffix(name, after)
		if n, err := strconv.ParseInt(name, 10, 32); ok && marked && err == nil && n >= 0 && e.IsDir() {
			numbers = append(numbers, int32(n))
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// discard removes a store, under another name first, so that what a crash leaves of it is no store. Nothing else is being
// removed.
func discard(fs vfs.FS, store, removing string) error {
	if err := fs.RemoveAll(removing); err != nil {
		return err
	}
	if err := snapshot.MoveAside(fs, store, removing); err != nil {
		return err
	}
	return fs.RemoveAll(removing)
}

// tidy removes what a crash left of a restore, checkpoint or removal, the note that the store is not used, and old
// quarantined stores. A store that was moved aside for a snapshot that did not come into place takes its place again; beside
// one that did it stays until that is open (restore.go). An error says that it cannot be brought back: nothing may be put in
// its place then.
func (w *worker) tidy(dir string) error {
	fs := w.fs()
	if aside := beside(dir, replacedMark); !w.hasStore(dir) && w.hasStore(aside) {
		if err := errors.Join(fs.RemoveAll(dir), snapshot.MoveAside(fs, aside, dir)); err != nil {
			return fmt.Errorf("partition %d: the store that a snapshot was to replace cannot be put back: %w", w.number, err)
		}
	}
	names, err := fs.List(filepath.Dir(dir))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil // there was no store yet
	case err != nil:
		return fmt.Errorf("partition %d: the data directory cannot be read: %w", w.number, err)
	}
	slices.Sort(names)
	var corrupt []string
	for _, name := range names {
		mark, ok := strings.CutPrefix(name, filepath.Base(dir)+".")
		switch {
		case !ok:
		case strings.HasPrefix(mark, corruptMark):
			corrupt = append(corrupt, name)
		case mark == restoringMark, mark == checkpointMark, mark == unusedMark, mark == removingMark:
			if err := fs.RemoveAll(fs.PathJoin(filepath.Dir(dir), name)); err != nil {
				w.log.Warn("what a crash left behind cannot be removed", "dir", name, "err", err)
			}
		}
	}
	for len(corrupt) > keepCorrupt {
		if err := fs.RemoveAll(fs.PathJoin(filepath.Dir(dir), corrupt[0])); err != nil {
			w.log.Warn("an old quarantined store cannot be removed", "dir", corrupt[0], "err", err)
		}
		corrupt = corrupt[1:]
	}
	return nil
}
