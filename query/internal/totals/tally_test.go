package totals

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/internal/badge"
	"github.com/tidemark/tidemark/query/queryv1"
)

// A channel counts under each of its labels, and so do its threads.
func TestTally(t *testing.T) {
	var of Tally
	of.AddChannel(badge.Part{Unread: 3}, []string{"a", "b"}, 1)
	before := of.Copy()
	of.AddThread(badge.Part{Unread: 2, Mentions: 1}, []string{"b"}, 1)
	of.AddChannel(badge.Part{Unread: 5}, nil, 1)
	a := &queryv1.Totals{Unread: 3, UnreadChannels: 1, Badge: 3, Archived: &queryv1.ArchivedTotals{}}
	b := proto.CloneOf(a)
	b.ThreadUnread, b.ThreadMentions, b.UnreadThreads, b.Badge = 2, 1, 1, 5
	got := of.ByLabel()
	if of.All.Unread != 8 || len(got) != 2 || !proto.Equal(got["a"], a) || !proto.Equal(got["b"], b) {
		t.Errorf("%+v, by label %v", of.All, got)
	}
	if one := of.Of([]string{"b", "c"}); len(one) != 2 || !proto.Equal(one["b"], b) || one["c"].Unread != 0 || of.Of(nil) != nil {
		t.Errorf("of two labels %v", one)
	}
	if old := before.ByLabel(); !proto.Equal(old["b"], a) {
		t.Errorf("the copy has become %v", old)
	}
	before.AddTotals(&queryv1.Totals{}, map[string]*queryv1.Totals{"c": b})
	if sum := before.ByLabel(); !proto.Equal(sum["c"], b) || before.All.Unread != 3 {
		t.Errorf("with another owner's %v", sum)
	}
	if none := new(Tally); none.ByLabel() != nil {
		t.Error("no label has totals")
	}
}
