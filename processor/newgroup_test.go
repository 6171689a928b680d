package processor

import (
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestANewGroupNamesItsProducers: for each partition that begins at the start of its logs, the
// group has the producer before a record is folded, and so before anything is published. A
// successor of a member that freezes right then fences it.
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

// TestANewGroupNamesItsProducersWhereALogIsCutOff: the oldest messages are gone. Before the first
// commit, the group has the producer beside offset 0 of the inputs that are complete.
func TestANewGroupNamesItsProducersWhereALogIsCutOff(t *testing.T) {
	k := testkit.FakeKafka(t)
	s := newSite(t, k.ListenAddrs(), 1)
	inputs := s.names().Inputs
	gone := s.post("general", "gone", "bob")
	s.join("general", "alice", "bob")
	last := s.post("general", "there", "bob")
	if err := k.DeleteRecords(inputs[events.Messages], 0, gone.Offset+1); err != nil {
		t.Fatal(err)
	}
	c := s.config(t.TempDir())
	c.CommitEvery = time.Hour // writing the id does not wait for it
	m := s.start(c)
	defer m.stop()
	until(t, "the group has a producer beside the reads", func() bool {
		offsets, err := s.admin().FetchOffsets(t.Context(), s.group)
		if err != nil {
			return false // the member has not joined yet
		}
		o, ok := offsets.Lookup(inputs[events.Reads], 0)
		return ok && o.At == 0 && len(strings.Fields(o.Metadata)) == 2 // the format and one id
	})
	m.ready(1)
	if n := m.unread(last, "alice", "general"); n != 1 {
		t.Errorf("%d unread of what is there, want 1", n)
	}
}
