package compare

import (
	"context"
	"maps"
	"slices"

	"github.com/tidemark/tidemark/importer"
)

// addVersions counts threads again whose rows do not explain our number, with whom the replies
// mentioned before they were edited: a bridge made these users follow the thread. An import did not
// see these mentions, so the first count stays where the second one explains nothing.
func (c *comparison) addVersions(ctx context.Context, source importer.Counter, rows *recount, open map[Pair]*Evidence) error {
	product, ok := source.(importer.Versioner)
	if !ok {
		return nil
	}
	again, channels := []Pair{}, map[string]bool{}
	for p, e := range open {
		if b, _, _ := c.Policy.Judge(e); b == OursWrong && p.Thread != "" {
			again, channels[p.Channel] = append(again, p), true
		}
	}
	if len(again) == 0 {
		return nil
	}
	if err := product.Versions(ctx, slices.Sorted(maps.Keys(channels)), func(e *importer.Event) error {
		rows.channels[e.Channel].addVersion(e)
		return nil
	}); err != nil {
		return err
	}
	for _, p := range again {
		e := *open[p]
		e.Rows = rows.of(p)
		if b, _, _ := c.Policy.Judge(&e); b != OursWrong {
			open[p].Rows = e.Rows
		}
	}
	return nil
}

// addVersion adds whom a version of a message mentioned. Only the author of a message can edit it.
func (c *channelRows) addVersion(e *importer.Event) {
	for i := range c.posts {
		if x := &c.posts[i]; x.ID == e.ID && x.User == e.User {
			x.before = append(x.before, e.Mentions...)
		}
	}
}
