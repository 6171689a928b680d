package rebuild

import (
	"fmt"

	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// SameSettings refuses settings that differ from those of the stores in a data directory: the node
// would refuse the rebuilt stores or the old ones. It skips a store that cannot be read, as it may
// be the one to replace.
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
		return fmt.Errorf("store %s was folded with %s, and this would fold with %s: nothing was rebuilt or swapped in; give the "+
			"settings of before, or, to change them on all nodes, move the stores out of %s first", dir, found.Identity.Settings, settings, dataDir)
	}
	return nil
}
