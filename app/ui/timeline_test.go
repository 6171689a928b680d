package ui

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tidemark/tidemark/events"
)

func post(id, sender, text string) *events.Message {
	return &events.Message{Kind: events.KindMessagePosted, ChannelID: []byte("c"), MessageID: []byte(id), SenderID: []byte(sender), Preview: []byte(text), OccurredAt: 1000}
}

func about(kind events.Kind, id string, users ...string) *events.Message {
	m := &events.Message{Kind: kind, ChannelID: []byte("c"), MessageID: []byte(id)}
	for _, u := range users {
		m.IDs = append(m.IDs, []byte(u))
	}
	return m
}

func TestTimeline(t *testing.T) {
	tl := newTimeline()
	tl.apply(about(events.KindMembersJoined, "", "ann", "bob", "cleo"))
	tl.apply(post("m1", "ann", "one"))
	tl.apply(post("m2", "bob", "two"))
	tl.apply(post("m1", "ann", "one again"))
	before := tl.history("c", 0)
	if len(before.Messages) != 2 || before.Messages[0].Text != "one" {
		t.Fatalf("a duplicate must change nothing: %+v", before.Messages)
	}
	edit := about(events.KindMessageEdited, "m1", "bob")
	edit.Preview = []byte("ONE")
	tl.apply(edit)
	tl.apply(about(events.KindMessageDeleted, "m2"))
	tl.apply(about(events.KindMessageDeleted, "never"))
	tl.apply(about(events.KindMembersLeft, "", "cleo"))
	after := tl.history("c", before.Revision)
	if len(after.Messages) != 2 || after.Messages[0].Text != "ONE" || !after.Messages[0].Edited || !slices.Equal(after.Messages[0].Mentions, []string{"bob"}) {
		t.Errorf("edited: %+v", after.Messages)
	}
	if x := after.Messages[1]; !x.Deleted || x.Text != "" {
		t.Errorf("deleted: %+v", x)
	}
	if !slices.Equal(after.Members, []string{"ann", "bob"}) {
		t.Errorf("members %v", after.Members)
	}
	if got := tl.history("c", after.Revision); len(got.Messages) != 0 {
		t.Errorf("nothing has changed since, and there is %+v", got.Messages)
	}
	tl.apply(about(events.KindChannelDeleted, ""))
	if got := tl.history("c", 0); len(got.Messages) != 0 {
		t.Errorf("a deleted channel has %+v", got.Messages)
	}
}

func TestTimelinePurges(t *testing.T) {
	tl := newTimeline()
	for i := range 4 {
		tl.apply(post(fmt.Sprint("m", i), "ann", "text"))
	}
	purge := about(events.KindMessagesPurged, "m1")
	purge.Target = events.TargetMessageID
	tl.apply(purge)
	var left []string
	for _, m := range tl.history("c", 0).Messages {
		if !m.Deleted {
			left = append(left, m.ID)
		}
	}
	if !slices.Equal(left, []string{"m2", "m3"}) {
		t.Errorf("left are %v", left)
	}
}

func TestTimelineIsBounded(t *testing.T) {
	tl := newTimeline()
	for i := range keptMessages + 5 {
		tl.apply(post(fmt.Sprint(i), "ann", "text"))
	}
	h := tl.history("c", 0)
	if len(h.Messages) != keptMessages || h.Messages[0].ID != "5" || !h.More {
		t.Errorf("%d messages from %s on, more %t", len(h.Messages), h.Messages[0].ID, h.More)
	}
	for i := range keptChannels + 5 {
		m := post("m", "ann", "text")
		m.ChannelID = fmt.Append(nil, "channel-", i)
		tl.apply(m)
	}
	if len(tl.channels) > keptChannels {
		t.Errorf("%d channels are kept", len(tl.channels))
	}
	if len(tl.history("c", 0).Messages) != 0 {
		t.Error("the channel in which nothing has happened for longest must be the first to go")
	}
}

func TestChangesAreTold(t *testing.T) {
	tl := newTimeline()
	_, revision, next := tl.since(^uint64(0))
	select {
	case <-next:
		t.Fatal("nothing has changed")
	default:
	}
	tl.apply(post("m1", "ann", "one"))
	<-next
	channels, now, _ := tl.since(revision)
	if !slices.Equal(channels, []string{"c"}) || now <= revision {
		t.Errorf("changed %v at %d", channels, now)
	}
	if again, _, _ := tl.since(now); len(again) != 0 {
		t.Errorf("told twice: %v", again)
	}
}

func TestPeopleAreTheMembers(t *testing.T) {
	tl := newTimeline()
	tl.apply(about(events.KindMembersJoined, "", "bob", "ann"))
	other := about(events.KindMembersJoined, "", "bob")
	other.ChannelID = []byte("d")
	tl.apply(other)
	if got := tl.people(); !slices.Equal(got, []Person{{"bob", 2}, {"ann", 1}}) {
		t.Errorf("%v", got)
	}
}
