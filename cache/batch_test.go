package cache

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/cache/internal/entry"
	"github.com/tidemark/tidemark/events"
)

func TestBatchKeepsTheNewestOfEachKey(t *testing.T) {
	b := batchOf(
		small("u", "c", 1, 0), small("u", "d", 1, 0), small("v", "c", 1, 0),
		small("u", "c", 3, 0), small("u", "c", 2, 0), // the last record came late
		small("v", "c", 2, 0), small("u", "e", 1, 0),
	)
	if got, want := describe(b), "u: e@1.1.0.0 d@1.1.0.0 c@1.3.0.0; v: c@1.2.0.0; "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if b.tally.coalesced != 3 || b.tally.records != 7 || b.tally.unread != 7 {
		t.Errorf("tally %+v", b.tally)
	}
}

// anyPart is a partition whose changes are published.
var anyPart = &part{}

func batchOf(deltas ...*events.UnreadDelta) *batch {
	b := new(batch)
	b.reset(len(deltas))
	for _, d := range deltas {
		b.addUnread(unreadRecord(d), anyPart)
	}
	return b
}

// describe lists users with their deltas.
func describe(b *batch) string {
	var s strings.Builder
	for _, u := range b.users {
		fmt.Fprintf(&s, "%s:", u.id)
		for i := u.first; i >= 0; i = b.deltas[i].next {
			fmt.Fprintf(&s, " %s@%s", b.deltas[i].channelID(), b.deltas[i].now.stamp.String())
		}
		s.WriteString("; ")
	}
	return s.String()
}

// A fan-out delta right after a read replaces its delta, and still names the device that moved the
// pointer.
func TestBatchKeepsTheOriginOfTheRead(t *testing.T) {
	read := reading(small("u", "c", 1, 1), "m", 4, t0)
	read.InstanceID = []byte("phone")
	b := batchOf(read, reading(small("u", "c", 2, 1), "m", 4, t0))
	if got := origin(b); got != "phone" || len(b.deltas) != 1 {
		t.Errorf("origin %q of %d deltas, want phone of 1", got, len(b.deltas))
	}
	b = batchOf(read, reading(small("u", "c", 2, 1), "m5", 5, t0))
	if got := origin(b); got != "" {
		t.Errorf("origin %q of a move that somebody else made", got)
	}
}

// origin returns the device that publications of the first delta name.
func origin(b *batch) string { return string((&chunk{batch: b}).told(&b.deltas[0]).InstanceID) }

// A batch does not publish a value again that was published before, unless a later value joins it.
func TestBatchIsLoudIfAnyIs(t *testing.T) {
	p := &part{publishFrom: 1}
	b := new(batch)
	b.reset(3)
	b.addUnread(unreadRecord(small("u", "c", 1, 0)), p)
	b.addUnread(unreadRecord(small("u", "d", 1, 0)), p)
	later := unreadRecord(small("u", "d", 2, 0))
	later.Offset = 1
	b.addUnread(later, p)
	if b.deltas[0].toPublish || !b.deltas[1].toPublish {
		t.Errorf("toPublish: %v, %v; want false, true", b.deltas[0].toPublish, b.deltas[1].toPublish)
	}
}

func TestBatchSkipsWhatItCannotUse(t *testing.T) {
	thread := unreadRecord(inThread(small("u", "c", 1, 0), "t"))
	thread.Key = events.AppendUnreadKey(nil, []byte("u"), []byte("c"), []byte("other"))
	other := unreadRecord(small("u", "c", 1, 0))
	other.Key = events.AppendUnreadKey(nil, []byte("u"), []byte("d"), nil)
	long := small("u", strings.Repeat("x", 256), 1, 0)
	for _, c := range []struct {
		name string
		r    *kgo.Record
		want tally
		err  string
	}{
		{"other thread", thread, tally{bad: 1, records: 1, unread: 1}, "other ids"},
		{"thread under its channel's key", &kgo.Record{Topic: "t", Key: []byte("u\x00c"), Value: thread.Value}, tally{bad: 1, records: 1, unread: 1}, "other ids"},
		{"empty thread", &kgo.Record{Topic: "t", Key: []byte("u\x00c\x00"), Value: thread.Value}, tally{bad: 1, records: 1, unread: 1}, "does not have this topic's form"},
		{"garbage", &kgo.Record{Topic: "t", Key: []byte("u\x00c"), Value: []byte{0xff}}, tally{bad: 1, records: 1, unread: 1}, "Protobuf"},
		{"no key", &kgo.Record{Topic: "t", Offset: 7, Partition: 3, Value: []byte{1}}, tally{bad: 1, records: 1, unread: 1}, "t/3/7"},
		{"other key", other, tally{bad: 1, records: 1, unread: 1}, "other ids"},
		{"empty value", &kgo.Record{Topic: "t", Key: []byte("u\x00c"), Value: []byte{}}, tally{bad: 1, records: 1, unread: 1}, "other ids"},
		{"long id", unreadRecord(long), tally{bad: 1, records: 1, unread: 1}, "does not have this topic's form"},
	} {
		b := new(batch)
		b.reset(1)
		b.addUnread(c.r, anyPart)
		if b.tally != c.want || len(b.deltas) != 0 {
			t.Errorf("%s: tally %+v, %d deltas", c.name, b.tally, len(b.deltas))
		}
		if b.lastBad == nil || !strings.Contains(b.lastBad.Error(), c.err) {
			t.Errorf("%s: error %v, want one with %q", c.name, b.lastBad, c.err)
		}
	}
	for name, r := range map[string]*kgo.Record{
		"channel garbage":   {Topic: "t", Key: []byte("c"), Value: []byte{0xff}},
		"channel no key":    {Topic: "t", Value: []byte{}},
		"channel other key": {Topic: "t", Key: []byte("d"), Value: events.AppendChannelRecord(nil, head("c", 1, 1))},
	} {
		b := new(batch)
		b.reset(1)
		b.addChannel(r, anyPart)
		if b.tally.bad != 1 || len(b.channels) != 0 {
			t.Errorf("%s: tally %+v, %d channels", name, b.tally, len(b.channels))
		}
	}
}

// A reused batch gives the same result as a new one: no list of an earlier record remains.
func TestBatchReuse(t *testing.T) {
	reused := new(batch)
	rapid.Check(t, func(t *rapid.T) {
		fresh := new(batch)
		var records []*kgo.Record
		for range rapid.IntRange(0, 40).Draw(t, "n") {
			d := anyDelta().Draw(t, "delta")
			d.UserID = []byte(rapid.SampledFrom([]string{"u", "v", "w"}).Draw(t, "user"))
			d.ChannelID = []byte(rapid.SampledFrom([]string{"c", "d", "e"}).Draw(t, "channel"))
			d.ThreadID = []byte(rapid.SampledFrom([]string{"", "", "t"}).Draw(t, "thread"))
			records = append(records, unreadRecord(d))
		}
		for _, b := range []*batch{fresh, reused} {
			b.reset(len(records))
			for _, r := range records {
				b.addUnread(r, anyPart)
			}
		}
		if a, b := content(fresh), content(reused); a != b {
			t.Fatalf("fresh:\n%s\nreused:\n%s", a, b)
		}
	})
}

func content(b *batch) string {
	var s strings.Builder
	s.WriteString(describe(b))
	c := &chunk{batch: b}
	for i := range b.deltas {
		d := &b.deltas[i]
		s.Write(b.values[d.from:d.to])
		s.Write(entry.AppendUpdate(nil, c.told(d)))
		s.Write(entry.AppendChange(nil, c.told(d)))
		s.WriteByte('\n')
	}
	return s.String()
}

// anyDelta draws a delta with any of its parts left out.
func anyDelta() *rapid.Generator[*events.UnreadDelta] {
	return rapid.Custom(func(t *rapid.T) *events.UnreadDelta {
		has := func(part string) bool { return rapid.Bool().Draw(t, part) }
		n, at := rapid.Uint32Range(1, 9), rapid.Int64Range(1, 1<<40)
		ref := func(name string) events.Ref {
			return events.Ref{MessageID: []byte(rapid.StringMatching(`[a-z]{0,5}`).Draw(t, name)), Seq: n.Draw(t, name)}
		}
		d := &events.UnreadDelta{
			Member: has("member"), Large: has("large"), Muted: has("muted"), OfflineUnread: n.Draw(t, "offline"), ReadEpoch: n.Draw(t, "epoch"),
			Stamp: stampOf(at.Draw(t, "m"), at.Draw(t, "r")),
		}
		if has("read") {
			d.LastRead, d.LastReadAt = ref("read"), at.Draw(t, "read at")
		}
		if has("lists") {
			list := rapid.SliceOfNDistinct(n, 1, 5, rapid.ID[uint32])
			d.ReadPos, d.Excluded, d.Mentioned = n.Draw(t, "read pos"), slices.Sorted(slices.Values(list.Draw(t, "excluded"))), slices.Sorted(slices.Values(list.Draw(t, "mentioned")))
		}
		if has("counts") {
			d.Unread, d.Mentions, d.DirectMentions, d.FirstUnread, d.FirstMention = n.Draw(t, "unread"), n.Draw(t, "mentions"), n.Draw(t, "direct"), ref("first"), ref("first mention")
			d.Latest = events.Head{Seq: n.Draw(t, "latest"), At: at.Draw(t, "latest at")}
		}
		if has("said") {
			d.Level, d.Until, d.LevelAfter, d.IgnoreAll, d.Flagged, d.Ask = events.LevelMentions, at.Draw(t, "until"), events.LevelNone, has("ignores"), has("flagged"), has("ask")
			d.Filed, d.Line, d.Labels = events.Filed{Is: true, Keep: has("keep"), Pos: n.Draw(t, "pos")}, ref("line"), [][]byte{ref("label").MessageID}
		}
		if has("touched") {
			d.TouchedAt = at.Draw(t, "touched at")
		}
		return d
	})
}
