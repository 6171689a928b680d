package importer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// told has what an import writes, a line for each record, in order.
type told struct{ lines []string }

func (w *told) write(_ []byte, in events.Input, channel string, value []byte, _ int64) error {
	var line string
	if in == events.Messages {
		var e eventsv1.MessageEvent
		if err := proto.Unmarshal(value, &e); err != nil {
			return err
		}
		switch {
		case e.GetMessagePosted() != nil:
			line = "post " + e.GetMessagePosted().MessageId
		case e.GetMessageDeleted() != nil:
			line = "delete " + e.GetMessageDeleted().MessageId
		case e.GetMembersJoined() != nil:
			line = fmt.Sprintf("join %v %v", e.GetMembersJoined().UserIds, e.GetMembersJoined().CountHistory)
		case e.GetMembersLeft() != nil:
			line = fmt.Sprintf("leave %v", e.GetMembersLeft().UserIds)
		}
		w.lines = append(w.lines, fmt.Sprintf("%s %s +%d", channel, line, e.OccurredAt.AsTime().UnixMilli()-epoch))
		return nil
	}
	var e eventsv1.ReadEvent
	if err := proto.Unmarshal(value, &e); err != nil {
		return err
	}
	switch {
	case e.GetReadUpTo() != nil:
		line = fmt.Sprintf("read %s seq %d", e.GetReadUpTo().ThreadId, e.GetReadUpTo().GetSeq())
	case e.GetThreadFollowed() != nil:
		line = "follow " + e.GetThreadFollowed().ThreadId
	case e.GetThreadUnfollowed() != nil:
		line = "unfollow " + e.GetThreadUnfollowed().ThreadId
	case e.GetChannelMuted() != nil:
		line = "mute"
	default:
		line = fmt.Sprintf("%T", e.Kind)
	}
	w.lines = append(w.lines, fmt.Sprintf("%s %s %s +%d", channel, e.UserId, line, e.OccurredAt.AsTime().UnixMilli()-epoch))
	return nil
}

// tell imports the events as of a later time.
func tell(t *testing.T, later time.Duration, product given) []string {
	t.Helper()
	p := newPlan(t.TempDir(), 0, epoch+later.Milliseconds(), &Problems{})
	defer p.close()
	w := &told{}
	p.sink = w
	if err := p.run(context.Background(), &Config{Progress: func(Progress) {}}, product, nil); err != nil {
		t.Fatal(err)
	}
	return w.lines
}

func expect(t *testing.T, rule string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", rule, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// An import writes a product's rows in the only order and form that Tidemark counts correctly. Here
// the source lists its channels one after the other, and pointers before their messages.
func TestRulesOfAnImport(t *testing.T) {
	const minute, halfYear = 60_000, 200 * 24 * time.Hour
	post := func(channel, id string, at int64) Event {
		return Event{Kind: KindPost, Channel: channel, ID: id, User: "eve", At: epoch + at}
	}
	expect(t, "one order of time over all channels", tell(t, time.Hour, given{
		post("a", "a1", 1), post("a", "a2", 5), post("a", "a3", 9), post("b", "b1", 2), post("b", "b2", 5), post("c", "c1", 3),
	}), "a post a1 +1", "b post b1 +2", "c post c1 +3", "a post a2 +5", "b post b2 +5", "a post a3 +9")

	expect(t, "pointers are numbers of messages, also half a year later, and of messages that are gone", tell(t, halfYear, given{
		{Kind: KindPointer, Channel: "a", User: "ann", ID: "a2", Until: epoch + 20}, {Kind: KindPointer, Channel: "a", User: "bob", At: epoch + 6, Until: epoch + 21},
		{Kind: KindPointer, Channel: "a", User: "cem", Seq: 1, Until: epoch + 22}, {Kind: KindPointer, Channel: "a", User: "dee", ID: "gone", Until: epoch + 23},
		post("a", "a1", 1), post("a", "a2", 5), post("a", "a3", 9),
	}), "a post a1 +1", "a post a2 +5", "a post a3 +9", "a ann read  seq 2 +20", "a bob read  seq 2 +21", "a cem read  seq 1 +22")

	joins := tell(t, time.Hour, given{
		{Kind: KindChannel, Channel: "dm", Direct: true}, {Kind: KindMember, Channel: "a", User: "ann", At: epoch + 4, Until: epoch + 8},
		{Kind: KindMember, Channel: "a", User: "bob"}, {Kind: KindMember, Channel: "dm", User: "cem", At: epoch + 6},
		post("a", "a1", 1), post("a", "a2", 5), post("dm", "d1", 2),
	})
	if !strings.HasPrefix(joins[0], "a join [bob] false ") {
		t.Errorf("who has no time does not join first: %q", joins)
	}
	expect(t, "joins at their times", joins[1:], "a post a1 +1", "dm post d1 +2", "a join [ann] false +4", "a post a2 +5", "dm join [cem] true +6", "a leave [ann] +8")

	expect(t, "who never viewed a channel reads nothing", tell(t, time.Hour, given{
		{Kind: KindPointer, Channel: "a", User: "ann", Until: epoch + 9}, {Kind: KindPointer, Channel: "a", User: "bob", At: epoch - 5, Until: epoch + 9}, post("a", "a1", 1),
	}), "a post a1 +1")

	deleted := post("a", "a1", 1)
	deleted.Until = epoch + 7
	expect(t, "deleted messages are posted, and deleted at their times", tell(t, time.Hour, given{deleted, post("a", "a2", 5), post("b", "b1", 9)}),
		"a post a1 +1", "a post a2 +5", "a delete a1 +7", "b post b1 +9")

	reply := post("a", "a2", 5)
	reply.Thread = "a1"
	expect(t, "reads come after all messages, in their order of time, and settings last, with times of their own", tell(t, time.Hour, given{
		{Kind: KindMute, Channel: "a", User: "ann", At: epoch + 2}, {Kind: KindFollow, Channel: "a", Thread: "a1", User: "bob", At: epoch + 4},
		{Kind: KindUnfollow, Channel: "a", Thread: "a1", User: "cem", At: epoch + 3}, {Kind: KindPointer, Channel: "a", User: "cem", ID: "a1", Until: epoch + 3*minute},
		{Kind: KindPointer, Channel: "b", User: "ann", ID: "b1", Until: epoch + 2*minute}, {Kind: KindPointer, Channel: "a", User: "bob", ID: "a1", Thread: "a1", Until: epoch + minute},
		post("a", "a1", 1), reply, post("b", "b1", 30),
	}), "a post a1 +1", "a post a2 +5", "b post b1 +30", "a bob read a1 seq 1 +60000", "b ann read  seq 1 +120000", "a cem read  seq 1 +180000",
		"a ann mute +2", "a cem unfollow a1 +3", "a bob follow a1 +4")
}
