package sender

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/batches"
)

// TestRoomOverManyPartitions: a set that fills the buffer before any of its batches is full is sent.
// The records of a partition keep their order over groups of the set.
func TestRoomOverManyPartitions(t *testing.T) {
	const partitions, records = 16, 3 * group
	k := testkit.FakeKafka(t, kfake.SeedTopics(partitions, topicName))
	s := start(t, k.ListenAddrs(), func(c *Config) { c.BatchBytes, c.BufferedBytes = 4000, 6000 })
	post(t, s, numbered(topicName, partitions, 0, records)...).ok()
	holds(t, k.ListenAddrs(), topicName, partitions, records)
}

// TestAddAllocatesNothing: sorting and encoding the records of a set needs no memory per record.
func TestAddAllocatesNothing(t *testing.T) {
	k := testkit.FakeKafka(t, kfake.SeedTopics(4, topicName))
	s := start(t, k.ListenAddrs(), nil)
	var records Records = list(numbered(topicName, 4, 0, 10_000))
	o := &outcomes{all: make(chan struct{}), missing: 1 << 30}
	w := newSorting()
	n := testing.AllocsPerRun(10, func() {
		for from := int32(0); from < 10_000; from += group {
			s.sort(w, records, from, min(from+group, 10_000))
			for i, l := range w.lanes {
				for at := w.heads[i]; at >= 0; {
					at = s.add(l, records, w, at, 0, o)
				}
			}
		}
		for _, l := range w.lanes {
			for b := l.pop(); b != nil; b = l.pop() {
				b.Seal(batches.Producer{}, 0, nil)
				s.settle(l, b, nil)
			}
		}
		w.clear()
	})
	if n > 20 {
		t.Errorf("10,000 records make %v allocations, want at most 20", n)
	}
}
