package view

import (
	"testing"

	"github.com/tidemark/tidemark/events"
)

// A view of a large channel names the first unread message and the first mention only while they
// are the first, and never another message in their place.
func TestFirstMessagesOfALargeChannel(t *testing.T) {
	var f Firsts
	v := View{Epoch: 1}
	step := func(what string, n events.Counts, latest, latestAt, last uint32, first, mention uint32) {
		t.Helper()
		was := v
		v.Details = nil // as in a delta
		v.Latest.Seq, v.Last.Seq = latest, last
		f.Derive(&v, &was, &n, latestAt)
		v.Unread, v.Mentions = n.Unread, n.Mentions
		got := uint32(0)
		if v.Details != nil {
			got = v.Details.FirstMention.Seq
		}
		if v.First.Seq != first || got != mention {
			t.Errorf("%s: the first is %d, and the first mention %d; want %d and %d", what, v.First.Seq, got, first, mention)
		}
	}
	step("nothing is unread", events.Counts{}, 4, 4, 4, 0, 0)
	step("a message comes", events.Counts{Unread: 1, First: 5}, 6, 5, 4, 6, 0)
	step("a mention", events.Counts{Unread: 2, Mentions: 1, First: 5, FirstMention: 6}, 7, 6, 4, 6, 7)
	step("another", events.Counts{Unread: 3, Mentions: 2, First: 5, FirstMention: 6}, 8, 7, 4, 6, 7)
	step("the first is deleted", events.Counts{Unread: 2, Mentions: 2, First: 6, FirstMention: 6}, 8, 7, 4, 0, 7)
	step("the first mention is read singly", events.Counts{Unread: 1, Mentions: 1, First: 7, FirstMention: 7}, 8, 7, 4, 8, 8)
	v.Epoch++
	step("a mark goes back", events.Counts{Unread: 5, Mentions: 2, First: 2, FirstMention: 6}, 8, 7, 2, 0, 0)
	step("all is read", events.Counts{}, 8, 7, 8, 0, 0)
	step("two come at once", events.Counts{Unread: 2, First: 8}, 10, 9, 8, 0, 0)

	answer := View{Unread: 2, Mentions: 1, First: Ref{Seq: 9}, Latest: Head{Ref: Ref{Seq: 10}}, Last: Ref{Seq: 8}, Epoch: v.Epoch, Details: &Details{FirstMention: Ref{Seq: 10}}}
	learnt := events.Counts{Unread: 2, Mentions: 1, First: 8, FirstMention: 9}
	f.Learn(&answer, &learnt)
	v = answer
	step("an owner has told", events.Counts{Unread: 3, Mentions: 1, First: 8, FirstMention: 9}, 11, 10, 8, 9, 10)
	f.Learn(&answer, &events.Counts{Unread: 5, Mentions: 1, First: 3, FirstMention: 9})
	v = answer
	step("an owner has told what is not derived", events.Counts{Unread: 3, Mentions: 1, First: 8, FirstMention: 9}, 11, 10, 8, 0, 0)
	v = View{Unread: 2, First: Ref{Seq: 9}, Latest: Head{Ref: Ref{Seq: 10}}, Last: Ref{Seq: 8}}
	f = Firsts{}
	step("it turns large", events.Counts{Unread: 2, First: 8}, 10, 9, 8, 9, 0)
	step("and grows", events.Counts{Unread: 3, First: 8}, 11, 10, 8, 9, 0)
}
