package importer

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// readsOf collects the reads that an import writes.
type readsOf []*eventsv1.ReadEvent

func (l *readsOf) write(_ []byte, in events.Input, _ string, value []byte, _ int64) error {
	if in != events.Reads {
		return nil
	}
	e := &eventsv1.ReadEvent{}
	*l = append(*l, e)
	return proto.Unmarshal(value, e)
}

// Of several pointers of a user, the furthest decides the position, and whether others see it. At
// the same position others see the public one.
func TestTheFurthestPointerSaysWhetherItIsPrivate(t *testing.T) {
	at := func(place int64, private bool) Event {
		return Event{Kind: KindPointer, Channel: "c", User: "ann", At: epoch + place, Until: epoch + 50, Private: private}
	}
	for name, c := range map[string]struct {
		pointers []Event
		seq      uint32
		private  bool
	}{
		"a public one":                       {[]Event{at(2, false)}, 2, false},
		"a private one":                      {[]Event{at(2, true)}, 2, true},
		"a public one, a private one before": {[]Event{at(3, false), at(1, true)}, 3, false},
		"a private one, a public one before": {[]Event{at(1, false), at(3, true)}, 3, true},
		"both at a place":                    {[]Event{at(2, true), at(2, false)}, 2, false},
	} {
		for _, cut := range []int64{0, epoch + 4} {
			product := given{{Kind: KindMember, Channel: "c", User: "ann", At: epoch}}
			for i := range int64(4) {
				product = append(product, Event{Kind: KindPost, Channel: "c", ID: string(rune('a' + i)), User: "bob", At: epoch + 1 + i})
			}
			var reads readsOf
			p := newPlan(t.TempDir(), cut, epoch+hour, &Problems{})
			p.sink = &reads
			product = append(product, c.pointers...)
			err := p.run(context.Background(), &Config{Progress: func(Progress) {}}, product, nil)
			p.close()
			if err != nil {
				t.Fatal(err)
			}
			if len(reads) != 1 || reads[0].GetReadUpTo().GetSeq() != c.seq || reads[0].GetReadUpTo().GetPrivate() != c.private {
				t.Errorf("%s, cut %d: %v; want seq %d, private %v", name, cut, reads, c.seq, c.private)
			}
		}
	}
}
