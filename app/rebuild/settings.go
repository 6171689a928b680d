package rebuild

import (
	"fmt"

	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// SameSettings refuses settings that differ from those of the stores in a data directory, because
// the node would refuse either the rebuilt or the old stores. It skips an unreadable store, which
// may be the one to replace.
func SameSettings(dataDir string, settings projections.Settings) error {
	numbers, err := processor.Stores(dataDir)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		dir := processor.StoreDir(dataDir, n)
		found, err := projections.InspectHeader(dir, nil)
		if err != nil || found.Identity.Settings == settings {
			continue
		}
		return fmt.Errorf("store %s was folded with %s, and this would fold with %s: nothing was rebuilt or swapped in; use the "+
			"old settings, or, to change them on all nodes, move the stores out of %s first", dir, found.Identity.Settings, settings, dataDir)
	}
	return nil
}
