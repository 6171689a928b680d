package warming

import (
	"slices"
	"testing"

	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/receipts"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// TestDue: going through a list, each element is due once, before its turn.
func TestDue(t *testing.T) {
	for n := range 4 * AtOnce {
		list, got := make([]int, n), []int(nil)
		for i := range list {
			list[i] = i
		}
		for i := range list {
			if got = append(got, Due(list, i)...); len(got) <= i {
				t.Fatalf("%d of %d elements: %d was not due", n, len(list), i)
			}
		}
		if !slices.Equal(got, list) {
			t.Fatalf("%d elements: %v were due", n, got)
		}
	}
}

// TestWarmingChangesNothing: whatever a row or channel refers to, nothing but the sum changes.
func TestWarmingChangesNothing(t *testing.T) {
	var p state.State
	p.Begin(identity.Settings{FanoutLimit: 50}, nil)
	user := p.EnsureUser([]byte("ann"))
	ci, c := p.EnsureChannel([]byte("c"))
	ref, r := p.EnsureRow(ci, user)
	p.PlaceMember(c, 0, ref)
	c.Ords = 1
	c.Tail[3], c.Latest = p.Blobs.Put([]byte("entry")), 3
	channel, row := *c, *r
	Rows(&p, []state.OutRow{{Ref: ref}})
	Channels(&p, []uint32{ci})
	Page(&p, c, 0, c.Ords)
	Receipts(&p, []receipts.Group{{Channel: ci, End: 2}}, []receipts.Due{{}, {User: user, Seq: 3}}, 1)
	if *c != channel || *r != row {
		t.Errorf("the channel is %+v instead of %+v, the row %+v instead of %+v", *c, channel, *r, row)
	}
	if p.Warmth.Sum == 0 {
		t.Error("nothing was loaded")
	}
}
