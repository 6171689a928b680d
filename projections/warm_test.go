package projections

import (
	"math/rand"
	"testing"
	"unsafe"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// TestWarmChangesNothing warms records at random moments of random logs, including records that
// name nothing that exists. The folded and stored state is the same as without warming, also for an
// empty partition.
func TestWarmChangesNothing(t *testing.T) {
	seed := rand.Int63()
	t.Logf("seeds from %d", seed)
	for i := range int64(20) {
		var dumps [2]string
		for warm := range dumps {
			l, order := newRandomLog(seed+i), rand.New(rand.NewSource(seed+i))
			var messages []*events.Message
			var reads []*events.Read
			for j := range l.messages {
				messages = append(messages, l.messages[j].message)
			}
			for j := range l.reads {
				reads = append(reads, l.reads[j].read)
			}
			p := mustOpen(t, vfs.NewMem(), testIdentity())
			l.foldTo(p, int64(len(messages)), int64(len(reads)), func() bool {
				if warm == 1 {
					p.Warm(messages, reads)
				}
				return order.Intn(2) == 0
			})
			mustCut(t, p)
			dumps[warm] = dump(t, p)
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if dumps[0] != dumps[1] {
			t.Fatalf("seed %d: without warming\n%s\nwith it\n%s", seed+i, dumps[0], dumps[1])
		}
	}
}

// TestHotRecordsAreSmall: Channel, Row and Rare have the sizes that docs/performance.md states.
func TestHotRecordsAreSmall(t *testing.T) {
	if size := unsafe.Sizeof(state.Channel{}); size != 256 {
		t.Errorf("a channel has %d bytes, not four cache lines", size)
	}
	if size := unsafe.Sizeof(state.Row{}); size != 56 {
		t.Errorf("a row has %d bytes, not 56", size)
	}
	if size := unsafe.Sizeof(state.Rare{}); size > 64 {
		t.Errorf("a Rare has %d bytes, more than a cache line", size)
	}
}
