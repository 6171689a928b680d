package home

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/internal/private"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/snapshot"
)

// A directory or file beside a partition's store has the store's name, a dot and one of these
// marks:
const (
	restoringMark  = "restoring"  // a snapshot that is being downloaded
	replacedMark   = "replaced"   // the complete former store, kept until the snapshot is open
	checkpointMark = "checkpoint" // a copy of the store for an upload
	corruptMark    = "corrupt"    // a quarantined store; the time follows
	unusedMark     = "unused"     // the time since which the store is unused (unused.go)
	removingMark   = "removing"   // a store that is being removed; it may be incomplete

	keepCorrupt = 2 // quarantined stores that are kept of each partition
)

// Dir returns the directory of a partition's store.
func Dir(dataDir string, partition int32) string {
	return filepath.Join(dataDir, storePrefix+strconv.Itoa(int(partition)))
}

const storePrefix = "partition-"

// CheckpointDir returns the directory for a copy of the store in dir that is to be uploaded.
func CheckpointDir(dir string) string { return beside(dir, checkpointMark) }

// beside returns a path next to a store. No store has such a name.
func beside(dir, mark string) string { return dir + "." + mark }

func (h *Home) fs() vfs.FS { return FS(h.cfg) }

// FS returns the file system of the stores.
func FS(c *setup.Checked) vfs.FS {
	if c.FS == nil {
		return private.FS
	}
	return c.FS
}

func (h *Home) hasStore(dir string) bool { return hasStore(h.fs(), dir) }

// hasStore reports whether a directory has any contents. It returns true if it cannot tell.
func hasStore(fs vfs.FS, dir string) bool {
	names, err := fs.List(dir)
	return len(names) > 0 || err != nil && !errors.Is(err, os.ErrNotExist)
}

// Stores lists the partitions that have a store in a data directory, in order.
func Stores(dataDir string) ([]int32, error) { return storesIn(dataDir, "") }

// StoresHere is Stores, plus the partitions whose store was moved aside because the process was
// killed while a snapshot replaced it.
func StoresHere(dataDir string) ([]int32, error) {
	stored, err := storesIn(dataDir, "")
	if err != nil {
		return nil, err
	}
	replaced, err := storesIn(dataDir, beside("", replacedMark))
	if err != nil {
		return nil, err
	}
	stored = append(stored, replaced...)
	slices.Sort(stored)
	return slices.Compact(stored), nil
}

// storesIn lists the partitions that have a store in a data directory, or a directory beside it
// whose name continues with after.
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

// discard removes a store. It renames the store first, so that a crash leaves no partial store
// under its name. Only one removal may run at a time.
func discard(fs vfs.FS, store, removing string) error {
	if err := fs.RemoveAll(removing); err != nil {
		return err
	}
	if err := snapshot.MoveAside(fs, store, removing); err != nil {
		return err
	}
	return fs.RemoveAll(removing)
}

// Tidy removes the leftovers of an interrupted restore, checkpoint or removal, the mark of an
// unused store, and old quarantined stores. If a store was moved aside for a snapshot that never
// came into place, Tidy moves it back; if the snapshot did come into place, the old store stays
// until the snapshot is open (restore.go). An error means that the store cannot be moved back; then
// nothing else may take its place.
func (h *Home) Tidy(dir string) error {
	fs := h.fs()
	if aside := beside(dir, replacedMark); !h.hasStore(dir) && h.hasStore(aside) {
		if err := errors.Join(fs.RemoveAll(dir), snapshot.MoveAside(fs, aside, dir)); err != nil {
			return fmt.Errorf("partition %d: the store that a snapshot was to replace cannot be put back: %w", h.partition, err)
		}
	}
	names, err := fs.List(filepath.Dir(dir))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil // there was no store
	case err != nil:
		return fmt.Errorf("partition %d: the data directory cannot be read: %w", h.partition, err)
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
				h.log.Warn("what remained of a crash cannot be removed", "dir", name, "err", err)
			}
		}
	}
	for len(corrupt) > keepCorrupt {
		if err := fs.RemoveAll(fs.PathJoin(filepath.Dir(dir), corrupt[0])); err != nil {
			h.log.Warn("an old quarantined store cannot be removed", "dir", corrupt[0], "err", err)
		}
		corrupt = corrupt[1:]
	}
	return nil
}
