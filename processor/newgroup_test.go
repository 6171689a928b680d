package processor

import (
	"strings"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestANewGroupNamesItsProducers: of each partition that begins at the start of its logs the group
// has the producer before a record is folded, so also before anything is published. A successor of
// a member that is frozen right then fences it.
func TestANewGroupNamesItsProducers(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 2)
	m := s.start(s.config(t.TempDir()))
	defer m.stop()
	until(t, "the group has a producer of each partition", func() bool {
		offsets, err := s.admin().FetchOffsets(t.Context(), s.group)
		if err != nil {
			return false // the member has not joined yet
		}
		for n := range s.partitions {
			o, ok := offsets.Lookup(s.names().Inputs[events.Messages], n)
			if !ok || o.At != 0 || len(strings.Fields(o.Metadata)) != 2 { // the format and one id
				return false
			}
		}
		return true
	})
}
