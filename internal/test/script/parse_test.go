package script_test

import (
	"flag"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
)

func b(ids ...string) [][]byte {
	var out [][]byte
	for _, id := range ids {
		out = append(out, []byte(id))
	}
	return out
}

// TestParse: the records of each kind of line. Every record comes a second after the previous one.
func TestParse(t *testing.T) {
	const now = script.Start + 1000
	c := []byte("c")
	for _, tt := range []struct {
		line string
		want any
	}{
		{`a, b join`, events.Message{Kind: events.KindMembersJoined, IDs: b("a", "b")}},
		{`u1..u3 join counting history`, events.Message{Kind: events.KindMembersJoined, IDs: b("u1", "u2", "u3"), CountHistory: true}},
		{`a leaves`, events.Message{Kind: events.KindMembersLeft, IDs: b("a")}},
		{`b posts m1 "hi, \"you\"" @a @all`, events.Message{
			Kind: events.KindMessagePosted, MessageID: []byte("m1"), SenderID: []byte("b"), Preview: []byte(`hi, "you"`), IDs: b("a"), MentionAll: true,
		}},
		{`b posts m2 in thread m1 broadcast silent members 60`, events.Message{
			Kind: events.KindMessagePosted, MessageID: []byte("m2"), SenderID: []byte("b"), ThreadID: []byte("m1"),
			Broadcast: true, Silent: true, MemberCount: 60,
		}},
		{`notice m3 "renamed"`, events.Message{Kind: events.KindMessagePosted, MessageID: []byte("m3"), Preview: []byte("renamed"), Silent: true}},
		{`edit m1 "x" @a`, events.Message{Kind: events.KindMessageEdited, MessageID: []byte("m1"), Preview: []byte("x"), IDs: b("a")}},
		{`edit m1 keeping mentions`, events.Message{Kind: events.KindMessageEdited, MessageID: []byte("m1"), KeepMentions: true}},
		{`delete m1 seq 7`, events.Message{Kind: events.KindMessageDeleted, MessageID: []byte("m1"), Seq: 7}},
		{`purge up to m1`, events.Message{Kind: events.KindMessagesPurged, Target: events.TargetMessageID, MessageID: []byte("m1")}},
		{`purge up to seq 3`, events.Message{Kind: events.KindMessagesPurged, Target: events.TargetSeq, Seq: 3}},
		{`delete the channel`, events.Message{Kind: events.KindChannelDeleted}},
		{`a reads up to m1 epoch 2 private from phone // a comment`, events.Read{
			Kind: events.KindReadUpTo, Target: events.TargetMessageID, MessageID: []byte("m1"), ReadEpoch: 2, Private: true, InstanceID: []byte("phone"),
		}},
		{`a reads up to time 8d+0:00:05.250`, events.Read{
			Kind: events.KindReadUpTo, Target: events.TargetTime, TargetTime: script.Start + 8*24*3600*1000 + 5250,
		}},
		{`a reads m1, m3 in thread m0`, events.Read{Kind: events.KindMessagesRead, IDs: b("m1", "m3"), ThreadID: []byte("m0")}},
		{`a marks unread m1 head m2`, events.Read{Kind: events.KindMarkedUnread, MessageID: []byte("m1"), HeadMessageID: []byte("m2")}},
		{`a marks unread m1 head seq 2`, events.Read{Kind: events.KindMarkedUnread, MessageID: []byte("m1"), HeadSeq: 2}},
		{`a mutes`, events.Read{Kind: events.KindChannelMuted, Muted: true}},
		{`a unmutes`, events.Read{Kind: events.KindChannelMuted}},
		{`b posts m1 hidden from a, u`, events.Message{
			Kind: events.KindMessagePosted, MessageID: []byte("m1"), SenderID: []byte("b"), HiddenFrom: b("a", "u"),
		}},
		{`b posts m1 reading`, events.Message{Kind: events.KindMessagePosted, MessageID: []byte("m1"), SenderID: []byte("b"), MarksRead: events.Yes}},
		{`b posts m1 not reading`, events.Message{Kind: events.KindMessagePosted, MessageID: []byte("m1"), SenderID: []byte("b"), MarksRead: events.No}},
		{`update the channel labels x, y archived`, events.Message{Kind: events.KindChannelUpdated, IDs: b("x", "y"), Archived: true}},
		{`update the channel`, events.Message{Kind: events.KindChannelUpdated}},
		{`a reads up to m1 with threads`, events.Read{
			Kind: events.KindReadUpTo, Target: events.TargetMessageID, MessageID: []byte("m1"), WithThreads: true,
		}},
		{`a wants everything`, events.Read{Kind: events.KindNotifySet}},
		{`a wants mentions until 0:00:05 ignoring @all`, events.Read{
			Kind: events.KindNotifySet, Level: events.LevelMentions, Until: script.Start + 5000, IgnoreAll: events.Yes,
		}},
		{`a wants nothing heeding @all`, events.Read{Kind: events.KindNotifySet, Level: events.LevelNone, IgnoreAll: events.No}},
		{`a flags head seq 5`, events.Read{Kind: events.KindFlagSet, Flagged: true, HeadSeq: 5}},
		{`a unflags`, events.Read{Kind: events.KindFlagSet}},
		{`a files for good head seq 5`, events.Read{Kind: events.KindChannelFiled, Archived: true, Keep: true, HeadSeq: 5}},
		{`a unfiles`, events.Read{Kind: events.KindChannelFiled}},
		{`a hides m1, m2`, events.Read{Kind: events.KindMessagesHidden, IDs: b("m1", "m2")}},
		{`a hides up to seq 5`, events.Read{Kind: events.KindMessagesHidden, Seq: 5}},
		{`a hides m7 up to seq 5`, events.Read{Kind: events.KindMessagesHidden, IDs: b("m7"), Seq: 5}},
		{`a draws the line under m1`, events.Read{Kind: events.KindLineSet, Target: events.TargetMessageID, MessageID: []byte("m1")}},
		{`a draws the line under seq 5`, events.Read{Kind: events.KindLineSet, Target: events.TargetSeq, Seq: 5}},
		{`a views m1, m2`, events.Read{Kind: events.KindMessagesViewed, IDs: b("m1", "m2")}},
		{`a labels work, home`, events.Read{Kind: events.KindLabelsSet, IDs: b("work", "home")}},
		{`a labels nothing`, events.Read{Kind: events.KindLabelsSet}},
		{`a follows m1`, events.Read{Kind: events.KindThreadFollowed, ThreadID: []byte("m1")}},
		{`a unfollows m1`, events.Read{Kind: events.KindThreadUnfollowed, ThreadID: []byte("m1")}},
		{`a is erased`, events.Read{Kind: events.KindUserErased}},
		{`a gets up to m1`, events.Delivery{Kind: events.KindDelivered, UpToID: []byte("m1")}},
		{`a gets m1`, events.Delivery{Kind: events.KindDelivered, MessageID: []byte("m1")}},
		{`a misses m1`, events.Delivery{Kind: events.KindQueued, MessageID: []byte("m1")}},
	} {
		var p script.Parser
		got, err := p.Parse(tt.line)
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %d records, error %v", tt.line, len(got), err)
			continue
		}
		want := script.Record{Timestamp: now}
		switch e := tt.want.(type) {
		case events.Message:
			e.ChannelID, e.OccurredAt = c, now
			want.Input, want.Message = events.Messages, &e
		case events.Read:
			e.ChannelID, e.OccurredAt, e.UserID = c, now, []byte("a")
			want.Input, want.Read = events.Reads, &e
		case events.Delivery:
			e.ChannelID, e.OccurredAt, e.UserID = c, now, []byte("a")
			want.Input, want.Delivery = events.Deliveries, &e
		}
		if !equal(&got[0], &want) {
			t.Errorf("%s: got %s", tt.line, script.Format(&got[0]))
		}
	}
}

// equal compares records; an empty list or text is a missing one.
func equal(a, b *script.Record) bool {
	norm := func(r *script.Record) script.Record {
		c := *r
		if r.Message != nil {
			m := *r.Message
			m.MessageID, m.SenderID, m.Preview, m.ThreadID = some(m.MessageID), some(m.SenderID), some(m.Preview), some(m.ThreadID)
			c.Message = &m
		}
		if r.Read != nil {
			m := *r.Read
			m.MessageID, m.ThreadID, m.HeadMessageID, m.InstanceID = some(m.MessageID), some(m.ThreadID), some(m.HeadMessageID), some(m.InstanceID)
			c.Read = &m
		}
		return c
	}
	return reflect.DeepEqual(norm(a), norm(b))
}

func some(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// TestParseTimes: the clock, and the times in a line.
func TestParseTimes(t *testing.T) {
	var p script.Parser
	got, err := p.Parse(`
		b posts m1
		wait 90d
		b posts m2..m3 #d
		a reads up to time of m1
		a marks unread m1 at time of m1 recorded 0:00:30
		a mutes at 90d+0:01:00
		again
	`)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := range got {
		lines = append(lines, script.Format(&got[i]))
	}
	want := strings.TrimSpace(`
b posts m1 at 0:00:01 recorded 0:00:01
b posts m2 #d at 90d+0:00:02 recorded 90d+0:00:02
b posts m3 #d at 90d+0:00:03 recorded 90d+0:00:03
a reads up to time 0:00:01 at 90d+0:00:04 recorded 90d+0:00:04
a marks unread m1 at 0:00:01 recorded 0:00:30
a mutes at 90d+0:01:00 recorded 90d+0:01:00
a mutes at 90d+0:01:00 recorded 90d+0:01:00`)
	if s := strings.Join(lines, "\n"); s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
}

// TestParseErrors: a wrong line is refused with its number, its text and what is wrong.
func TestParseErrors(t *testing.T) {
	for line, want := range map[string]string{
		"a posts":                  "a message id is missing",
		"a reads up to seq x":      `"x" is no number`,
		"a dances":                 "no such event",
		"a, b posts m1":            "one user",
		"a reads up to m1 now":     `"now" is one word too many`,
		"a reads up to time 12":    "no time",
		"a reads up to time of m1": "not known",
		`b posts m1 "hi`:           "closing quote",
		"wait long":                "no span",
		"again":                    "no record before",
		"a posts m2..m1":           "no range",
		"a reads up to m1 at 1:00:00 recorded 0:00:01": "5 minutes ahead",
		"a posts m1 in t": `"in" needs "thread"`,
	} {
		var p script.Parser
		_, err := p.Parse("\n" + line)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "line 2, ") {
			t.Errorf("%s: got error %v, want one that says %q and the line", line, err, want)
		}
	}
}

func init() {
	// The test prints a failing script. A fail file of rapid would only be committed by mistake.
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
}

// TestFormatParses: every record is written as a line that parses to the same record.
func TestFormatParses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := random.Draw(t)
		for _, records := range c.Log {
			for _, r := range records {
				var p script.Parser
				line := script.Format(&r)
				got, err := p.Parse(line)
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				r.Offset = 0
				if len(got) != 1 || !equal(&got[0], &r) {
					t.Fatalf("%s: parsed as %s", line, script.Format(&got[0]))
				}
			}
		}
	})
}

// TestInterleave: every record comes once, each topic in its own order.
func TestInterleave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := random.Draw(t)
		order := c.Log.Interleave(func(left []events.Input) int { return rapid.IntRange(0, len(left)-1).Draw(t, "pick") })
		var next [events.NumInputs]int
		for _, r := range order {
			if want := c.Log[r.Input][next[r.Input]].Offset; r.Offset != want {
				t.Fatalf("%s/%d, want offset %d", r.Input, r.Offset, want)
			}
			next[r.Input]++
		}
		if len(order) != c.Log.Len() {
			t.Fatalf("%d of %d records", len(order), c.Log.Len())
		}
	})
}
