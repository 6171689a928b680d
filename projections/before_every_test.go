package projections_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// TestAnOwnerBeforeEverywhere runs small stories with every position of the group and of the first
// owner's store, every place where the first owner dies, and either topic folded first by either
// owner.
func TestAnOwnerBeforeEverywhere(t *testing.T) {
	for what, story := range map[string]string{
		// The first owner publishes the pointer at m1. The second finds the channel already
		// deleted.
		"a channel is deleted under an open time target in a thread": `
a posts m1 in thread m2 at 0:00:02
delete the channel at 0:00:02
b reads up to time 0:00:03 in thread m1 private at 0:00:04`,
	} {
		t.Run(what, func(t *testing.T) {
			s := projections.DefaultSettings()
			m, store := model.New(s), open(t, vfs.NewMem(), s)
			defer closePartition(t, store)
			var messages, reads []script.Record
			for _, r := range parser(t, m)(story[1:]) {
				if r.Input == events.Messages {
					messages = append(messages, r)
				} else {
					reads = append(reads, r)
				}
			}
			for i := range len(messages) + 1 {
				for j := range len(reads) + 1 {
					owner := func(first, second []script.Record) *published {
						p, published := projections.Beside(store), newPublished()
						fold(p, messages[:i])
						fold(p, reads[:j])
						published.drain(t, p, m, "what is committed", false)
						fold(p, first)
						fold(p, second)
						published.drain(t, p, m, "an owner", false)
						return published
					}
					for a := i; a <= len(messages); a++ {
						for b := j; b <= len(reads); b++ {
							kept := owner(messages[i:a], reads[j:b])
							kept.read(owner(messages[i:], reads[j:]))
							kept.check(t, m, fmt.Sprintf("%d and %d were committed, the first owner died at %d and %d: what readers keep", i, j, a, b))
							kept = owner(messages[i:a], reads[j:b])
							kept.read(owner(reads[j:], messages[i:]))
							kept.check(t, m, fmt.Sprintf("%d and %d were committed, the first owner died at %d and %d, the second began with reads: what readers keep", i, j, a, b))
						}
					}
				}
			}
		})
	}
}
