package records

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// drawEvent draws a waiting event of any form.
func drawEvent(t *rapid.T) held.Event {
	text := func(label string) []byte {
		return append([]byte(nil), rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, label)...)
	}
	when := func(label string) int64 { return rapid.Int64Range(-1<<50, 1<<50).Draw(t, label) }
	return held.Event{
		Kind: rapid.Uint8Range(held.KindRead, held.KindWithThreads).Draw(t, "kind"), By: rapid.Uint8Range(0, held.ByTime).Draw(t, "by"),
		HeadBy: rapid.Uint8Range(0, held.ByTime).Draw(t, "head by"), Use: rapid.Uint8Range(0, 15).Draw(t, "use"),
		Closed: rapid.Bool().Draw(t, "closed"), Head: rapid.Bool().Draw(t, "head"),
		Offset: rapid.Int64Min(0).Draw(t, "offset"), At: when("at"), Horizon: when("horizon"), Now: when("now"), Time: when("time"),
		Seq: rapid.Uint32().Draw(t, "seq"), HeadSeq: rapid.Uint32().Draw(t, "head seq"), ID: text("id"), HeadID: text("head id"),
	}
}

// TestUnsettledBytes: decoding gives the waiting events in their order, except for fields that only
// cache what was looked up. A record that is cut short is refused.
func TestUnsettledBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want state.PairExtra
		for range rapid.IntRange(0, 3).Draw(t, "floors") {
			want.Floors = append(want.Floors, held.Floor{
				By: rapid.Uint8Range(0, held.ByTime).Draw(t, "floor by"), Val: rapid.Int64().Draw(t, "floor"), Horizon: rapid.Int64().Draw(t, "floor horizon"),
				Now: rapid.SampledFrom([]int64{0, 1, -5, 1 << 41}).Draw(t, "floor now"),
			})
		}
		for range rapid.IntRange(0, 3).Draw(t, "events") {
			want.Unsettled = append(want.Unsettled, drawEvent(t))
		}
		stored := want
		if stored.Unsettled = slices.Clone(want.Unsettled); len(stored.Unsettled) > 0 {
			stored.Unsettled[0].Sought = held.Sought{Head: 5, Expired: true}
		}
		b := AppendUnsettled(nil, &stored)
		if len(want.Floors)+len(want.Unsettled) == 0 {
			if len(b) != 0 {
				t.Fatalf("a record of nothing: %x", b)
			}
			return
		}
		var got state.PairExtra
		if err := DecodeUnsettled(&got, b); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v, %v\nwant %+v", got, err, want)
		}
		if len(want.Unsettled) > 0 {
			if err := DecodeUnsettled(&state.PairExtra{}, bytes.Clone(b[:len(b)-1])); err == nil {
				t.Fatal("a record without its last byte was taken")
			}
		}
	})
}

// TestEventsDoNotBorrow: events stay in memory longer than the record that they were read from.
func TestEventsDoNotBorrow(t *testing.T) {
	b := AppendEvents(nil, []held.Event{{Kind: held.KindMark, ID: []byte("m1"), HeadID: []byte("m2")}})
	got := ReadEvents(&wire.Reader{B: b})
	clear(b)
	if len(got) != 1 || string(got[0].ID) != "m1" || string(got[0].HeadID) != "m2" {
		t.Errorf("got %+v", got)
	}
}

// TestSpansAndSizes: decoding gives the same spans and sizes. It ends where the record is cut
// short.
func TestSpansAndSizes(t *testing.T) {
	spans := []state.Membership{{From: 0, To: 5}, {From: 300, To: 1<<32 - 1}}
	b := AppendSpans(nil, spans)
	r := wire.Reader{B: b}
	if got := ReadSpans(&r); !slices.Equal(got, spans) || r.Done() != nil {
		t.Errorf("spans %+v, %v", got, r.Err)
	}
	r = wire.Reader{B: b[:len(b)-1]}
	if ReadSpans(&r); r.Done() == nil {
		t.Error("memberships without their last byte were taken")
	}
	sizes := []uint32{1, 70000, 1<<32 - 1}
	b = AppendSizes(nil, sizes)
	r = wire.Reader{B: b}
	if got := ReadSizes(&r); !slices.Equal(got, sizes) || r.Done() != nil {
		t.Errorf("sizes %v, %v", got, r.Err)
	}
	r = wire.Reader{B: b[:len(b)-1]}
	if ReadSizes(&r); r.Done() == nil {
		t.Error("sizes without their last byte were taken")
	}
}
