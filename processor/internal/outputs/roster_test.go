package outputs

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// TestNothingIsPublishedBeforeTheGroupHasTheProducer: a new owner may publish a partition once the
// group has the producer's id beside the offsets, and not if the group refuses it.
func TestNothingIsPublishedBeforeTheGroupHasTheProducer(t *testing.T) {
	c, sent, fail := newTestCommitter()
	c.Roster.Become(7)
	c.Roster.Take(0, "tidemark/1 5 6")
	c.Own(0, at1(3))
	waits := func() bool { _, _, wait, owned := c.Roster.Entry(0); return owned && wait != nil }
	if !waits() {
		t.Error("published at once")
	}
	*fail = errors.New("unknown member")
	if err := c.Send(context.Background(), nil); err == nil || !waits() {
		t.Errorf("published although the group refused the id: %v", err)
	}
	*fail = nil
	if err := c.Send(context.Background(), nil); err != nil || waits() {
		t.Errorf("still waits: %v", err)
	}
	if len(*sent) != 2 || (*sent)[1][0] != 3 {
		t.Errorf("sent %v, want the offset that the group has", *sent)
	}
	self, former, _, _ := c.Roster.Entry(0)
	if self != 7 || !former {
		t.Errorf("producer %d, former owners %t", self, former)
	}
}

// TestTextsNameWhoMayWriteLate: the metadata beside the offsets names the former owners that are
// not fenced everywhere, and the present one until it leaves cleanly.
func TestTextsNameWhoMayWriteLate(t *testing.T) {
	r := NewRoster()
	r.Become(7)
	r.Take(1, "tidemark/1 5 6", "tidemark/1 6", "what a client writes by itself")
	want := func(when, text string, leaving bool) {
		t.Helper()
		if texts, _ := r.texts([]int32{1}, leaving); texts[1] != text {
			t.Errorf("%s: %q, want %q", when, texts[1], text)
		}
	}
	want("taken over", "tidemark/1 5 6 7", false)
	want("left in order", "tidemark/1 5 6", true)
	r.name([]int32{1}, 7)
	r.Become(8) // the earlier producer may write late like any other
	want("with another producer", "tidemark/1 5 6 7 8", false)
	r.Spoil(1)
	want("not left in order", "tidemark/1 5 6 7 8", true)

	all := &Outgoing{Topics: [...]string{events.TopicUnread, events.TopicChannels, events.TopicReceipts}, Deltas: []projections.OutRecord{
		{Topic: projections.OutUnread, Partition: 0}, {Topic: projections.OutUnread, Partition: 1},
		{Topic: projections.OutChannels, Partition: 1}, {Topic: projections.OutReceipts, Partition: 1},
	}}
	missing := r.Missing(1, all, events.TopicUnread, events.TopicChannels)
	if len(missing) != 9 {
		t.Errorf("%d fences, want those of three producers from three partitions", len(missing))
	}
	delete(missing, Fence{6, events.TopicUnread, 1})
	r.Raised(missing, events.TopicUnread, events.TopicChannels, 2)
	want("all but one are fenced", "tidemark/1 6 8", false)
	if left := r.Missing(1, all, events.TopicUnread, events.TopicChannels); len(left) != 1 {
		t.Errorf("%d fences are missing, want 1", len(left))
	}
}

// TestListedProducers: a written list is read back, other texts are ignored, and a list that is too
// long keeps the newest producers.
func TestListedProducers(t *testing.T) {
	if got := parseListed(formatListed(9, []int64{3, 0})); !slices.Equal(got, []int64{3, 0, 9}) {
		t.Errorf("read back %v", got)
	}
	for _, text := range []string{"", "tidemark", "tidemark/2 5", "consumer-1-c0ffee", "tidemark/1 -4 x 99999999999999999999"} {
		if got := parseListed(text); len(got) != 0 {
			t.Errorf("%q: %v", text, got)
		}
	}
	var many []int64
	for id := range int64(maxFormer + 5) {
		many = append(many, id)
	}
	if got := parseListed(formatListed(-1, many)); len(got) != maxFormer || got[len(got)-1] != maxFormer+4 {
		t.Errorf("of many: %v", got)
	}
}
