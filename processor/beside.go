package processor

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/snapshot"
)

// What lies beside the store of a partition is called like it, with a dot and one of these after it:
const (
	restoringMark  = "restoring"  // a snapshot that is being brought
	replacedMark   = "replaced"   // the store that it takes the place of
	checkpointMark = "checkpoint" // a copy of the store that is being uploaded
	corruptMark    = "corrupt"    // with the time: a store that was quarantined
	unusedMark     = "unused"     // since when it is not used (moved.go)
	removingMark   = "removing"   // a store that is being removed

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

func (w *worker) hasStore(dir string) bool {
	names, err := w.fs().List(dir)
	return len(names) > 0 || err != nil && !errors.Is(err, os.ErrNotExist)
}

// tidy removes what a crash left of a restore, checkpoint or removal, the note that the store is not used, and old
// quarantined stores. A store that was moved aside for a snapshot that did not come into place takes its place again.
func (w *worker) tidy(dir string) {
	fs := w.fs()
	if aside := beside(dir, replacedMark); !w.hasStore(dir) && w.hasStore(aside) {
		_ = fs.RemoveAll(dir)
		if err := snapshot.MoveAside(fs, aside, dir); err != nil {
			w.log.Warn("a replaced store cannot be brought back", "dir", aside, "err", err)
		}
	}
	names, err := fs.List(filepath.Dir(dir))
	if err != nil {
		return // the directory may not be there yet
	}
	slices.Sort(names)
	var corrupt []string
	for _, name := range names {
		mark, ok := strings.CutPrefix(name, filepath.Base(dir)+".")
		switch {
		case !ok:
		case strings.HasPrefix(mark, corruptMark):
			corrupt = append(corrupt, name)
		case mark == restoringMark, mark == replacedMark, mark == checkpointMark, mark == unusedMark, mark == removingMark:
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
}
