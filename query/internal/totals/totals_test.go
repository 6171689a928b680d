package totals

import (
	"math"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/badge"
	"github.com/tidemark/tidemark/query/queryv1"
)

// TestTotals: muted channels are in no total, and a total that is too large for its field is the
// largest that fits.
func TestTotals(t *testing.T) {
	var s Sums
	s.AddChannel(badge.Part{Unread: 3, Mentions: 1}, 1)
	s.AddChannel(badge.Part{Unread: 5, Mentions: 5, Level: events.LevelNone}, 1) // a muted channel is in no total
	s.AddChannel(badge.Part{}, 1)
	s.AddChannel(badge.Part{Unread: 2}, 1)
	want := &queryv1.Totals{Unread: 5, Mentions: 1, UnreadChannels: 2, Badge: 5, Archived: &queryv1.ArchivedTotals{}}
	if got := s.Totals(); !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s.AddChannel(badge.Part{Unread: math.MaxUint32, Mentions: math.MaxUint32}, 1)
	if got := s.Totals(); got.Unread != math.MaxUint32 || got.Mentions != math.MaxUint32 || got.Badge != math.MaxUint32 {
		t.Errorf("totals wrapped around: %v", got)
	}
}

// The sums of an owner's answer are added unchanged.
func TestTotalsOfAnotherOwner(t *testing.T) {
	all := Sums{badge.Sums{
		Unread: 1, Mentions: 2, Channels: 3, ThreadUnread: 4, ThreadMentions: 5, UnreadThreads: 6, Badge: 7, Flagged: 8,
		ArchivedChannels: 9, ArchivedMentions: 10,
	}}
	var reported Sums
	if reported.AddTotals(all.Totals()); reported != all {
		t.Errorf("%+v, want %+v", reported, all)
	}
}
