package sqlsink

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// lines returns the rows of a batch, with | between the fields.
func (b *batch) lines() (out []string) {
	for _, list := range [][]row{b.channels.list, b.unread.list, b.receipts} {
		for _, r := range list {
			out = append(out, strings.ReplaceAll(strings.TrimSuffix(string(b.text.b[r.from:r.to]), "\n"), "\t", "|"))
		}
	}
	return out
}

func unreadOf(d *events.UnreadDelta) *kgo.Record {
	return &kgo.Record{Topic: events.TopicUnread, Key: events.AppendUnreadKey(nil, d.UserID, d.ChannelID, d.ThreadID), Value: events.AppendUnreadDelta(nil, d)}
}

// These are the rows of deltas, records and receipts, as the text that COPY takes.
func TestRows(t *testing.T) {
	delta := func(change func(*events.UnreadDelta)) *kgo.Record {
		d := &events.UnreadDelta{UserID: []byte("u"), ChannelID: []byte("c"), Member: true, ReadEpoch: 1, Stamp: events.Stamp{FoldVersion: 1, M: 7, R: 3, D: 2}}
		change(d)
		return unreadOf(d)
	}
	for _, c := range []struct {
		name   string
		record *kgo.Record
		want   string
	}{
		{"small", delta(func(d *events.UnreadDelta) {
			d.Unread, d.Mentions, d.DirectMentions, d.OfflineUnread = 5, 2, 1, 4
			d.FirstUnread, d.LastRead, d.LastReadAt = events.Ref{MessageID: []byte("m2"), Seq: 2}, events.Ref{MessageID: []byte("m1"), Seq: 1}, t0
		}), `s|u|c||7|3|2|t|5|2|1|4|m2|2|ALL|ALL|\N|f|f|\N|\N|{}|1|f|f|0|{}|{}|m1|1|2026-01-02T03:04:05.678Z`},
		{"large", delta(func(d *events.UnreadDelta) {
			d.Large, d.ReadPos, d.Excluded, d.Mentioned, d.Ask = true, 9, []uint32{10, 12, 13}, []uint32{4294967295}, true
		}), `s|u|c||7|3|2|t|\N|0|0|0|\N|\N|ALL|ALL|\N|f|f|\N|\N|{}|1|t|t|9|{[10,11),[12,14)}|{[4294967295,4294967296)}|\N|0|\N`},
		{"what the user said", delta(func(d *events.UnreadDelta) {
			d.Level, d.LevelAfter, d.Until, d.IgnoreAll, d.Flagged, d.ReadEpoch = events.LevelMentions, events.LevelNone, t0, true, true, 3
			d.Filed, d.Labels = events.Filed{Is: true, Keep: true, Pos: 6}, [][]byte{[]byte(`a"b`), []byte(`c\d`), []byte("e\tf,{g}")}
		}), `s|u|c||7|3|2|t|0|0|0|0|\N|\N|MENTIONS|NONE|2026-01-02T03:04:05.678Z|t|t|t|6|{"a\\"b","c\\\\d","e\tf,{g}"}|3|f|f|0|{}|{}|\N|0|\N`},
		{"a thread read with its channel", delta(func(d *events.UnreadDelta) {
			d.ThreadID, d.LastRead = []byte("t"), events.Ref{Seq: 4}
		}), `s|u|c|t|7|3|2|t|0|0|0|0|\N|\N|ALL|ALL|\N|f|f|\N|\N|{}|1|f|f|0|{}|{}|\N|4|\N`},
		{"left without having read", delta(func(d *events.UnreadDelta) { d.Member, d.Stamp.R = false, 0 }),
			`s|u|c||7|0|2|f|0|0|0|0|\N|\N|ALL|ALL|\N|f|f|\N|\N|{}|1|f|f|0|{}|{}|\N|0|\N`},
		{"erased", delta(func(d *events.UnreadDelta) { d.Member = false }),
			`r|u|c||7|3|2|f|0|0|0|0|\N|\N|ALL|ALL|\N|f|f|\N|\N|{}|1|f|f|0|{}|{}|\N|0|\N`},
		{"a tombstone", &kgo.Record{Topic: events.TopicUnread, Key: []byte("u\x00c\x00t")},
			`e|u|c|t|0|0|0|f|0|0|0|0|\N|\N|ALL|ALL|\N|f|f|\N|\N|{}|0|f|f|0|{}|{}|\N|0|\N`},
		{"a channel", channelOf(&events.ChannelRecord{ChannelID: []byte("c"), HeadSeq: 9, HeadPos: 8, MemberCount: 3, Large: true, Archived: true, Holes: []uint32{3, 4}, Alls: []uint32{5}, HolesFloor: 2, AllsFloor: 1, PurgedPos: 1,
			Latest: events.Head{MessageID: []byte("m\n9"), Seq: 9, At: t0, SenderID: []byte("s")}, Stamp: events.Stamp{FoldVersion: 1, M: 7}}),
			`s|c|7|9|8|m\n9|2026-01-02T03:04:05.678Z|s|3|t|t|{}|{[3,5)}|{[5,6)}|1|2|1`},
		{"an empty channel that is gone", channelOf(&events.ChannelRecord{ChannelID: []byte("c"), Deleted: true, Stamp: events.Stamp{M: 8}}),
			`r|c|8|0|0|\N|\N|\N|0|f|f|{}|{}|{}|0|0|0`},
		{"receipts", &kgo.Record{Topic: events.TopicReceipts, Key: []byte("c"), Value: events.AppendReceiptsRecord(nil, &events.ReceiptsRecord{
			ChannelID: []byte("c"), Readers: []events.Receipt{{UserID: []byte("u"), MessageID: []byte("m"), Seq: 3, At: t0}}, Delivered: []events.Receipt{{UserID: []byte("v"), Seq: 4, At: t0}}})},
			`c|u|3|m|2026-01-02T03:04:05.678Z|\N` + "\n" + `c|v|4|\N|\N|2026-01-02T03:04:05.678Z`},
	} {
		var b batch
		b.reset()
		b.addAny(c.record)
		if got := strings.Join(b.lines(), "\n"); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func channelOf(c *events.ChannelRecord) *kgo.Record {
	return &kgo.Record{Topic: events.TopicChannels, Key: c.ChannelID, Value: events.AppendChannelRecord(nil, c)}
}

func (b *batch) addAny(r *kgo.Record) {
	switch r.Topic {
	case events.TopicUnread:
		b.addUnread(r, nil)
	case events.TopicChannels:
		b.addChannel(r, nil)
	default:
		b.addReceipts(r, nil)
	}
}

// A batch keeps the newest row of each key: the later one, unless the earlier one dominates it.
func TestBatchKeepsTheNewest(t *testing.T) {
	at := func(m, r int64, unread uint32) *kgo.Record {
		return unreadOf(&events.UnreadDelta{UserID: []byte("u"), ChannelID: []byte("c"), Member: true, Unread: unread, Stamp: events.Stamp{FoldVersion: 1, M: m, R: r}})
	}
	for _, c := range []struct {
		name    string
		records []*kgo.Record
		want    string
	}{
		{"later", []*kgo.Record{at(1, 1, 1), at(2, 1, 2)}, "|t|2|"},
		{"late", []*kgo.Record{at(2, 1, 2), at(1, 1, 1)}, "|t|2|"},
		{"the same", []*kgo.Record{at(2, 1, 2), at(2, 1, 3)}, "|t|3|"},
		{"neither", []*kgo.Record{at(2, 1, 2), at(1, 2, 4)}, "|t|4|"},
		{"after a tombstone", []*kgo.Record{at(9, 9, 9), {Topic: events.TopicUnread, Key: []byte("u\x00c")}, at(1, 1, 1)}, "|t|1|"},
	} {
		var b batch
		b.reset()
		for _, r := range c.records {
			b.addAny(r)
		}
		if got := b.lines(); len(got) != 1 || !strings.Contains(got[0], c.want) || b.tally.coalesced != len(c.records)-1 {
			t.Errorf("%s: %q, of which %d are coalesced", c.name, got, b.tally.coalesced)
		}
	}
}

// drop removes the rows of a partition that the member has lost, and the others are still found by
// their keys.
func TestBatchDropsWhatIsGone(t *testing.T) {
	var b batch
	b.reset()
	mine, gone := &part{}, &part{}
	for i, user := range []string{"a", "b", "c", "d"} {
		d := &events.UnreadDelta{UserID: []byte(user), ChannelID: []byte("c"), Member: true, Stamp: events.Stamp{M: 1}}
		b.addUnread(unreadOf(d), []*part{mine, gone}[i%2])
	}
	if n := b.drop(func(p *part) bool { return p == gone }); n != 2 {
		t.Errorf("%d rows are dropped, want 2", n)
	}
	b.addUnread(unreadOf(&events.UnreadDelta{UserID: []byte("c"), ChannelID: []byte("c"), Member: true, Unread: 5, Stamp: events.Stamp{M: 2}}), mine)
	got := b.lines()
	if len(got) != 2 || !strings.HasPrefix(got[0], "s|a|c|") || !strings.HasPrefix(got[1], "s|c|c||2|") {
		t.Errorf("the rows are %q", got)
	}
}

// A record whose value does not fit its key is skipped and counted.
func TestBadRecords(t *testing.T) {
	var b batch
	b.reset()
	d := &events.UnreadDelta{UserID: []byte("u"), ChannelID: []byte("c")}
	for _, r := range []*kgo.Record{
		{Topic: events.TopicUnread, Key: []byte("u"), Value: events.AppendUnreadDelta(nil, d)},
		{Topic: events.TopicUnread, Key: []byte("u\x00other"), Value: events.AppendUnreadDelta(nil, d)},
		{Topic: events.TopicUnread, Key: []byte("u\x00c"), Value: []byte{0xff}},
		{Topic: events.TopicUnread, Key: []byte("u\xff\x00c"), Value: events.AppendUnreadDelta(nil, d)},
		{Topic: events.TopicChannels, Key: nil, Value: []byte{}},
		{Topic: events.TopicChannels, Key: []byte("c"), Value: events.AppendChannelRecord(nil, &events.ChannelRecord{ChannelID: []byte("d")})},
		{Topic: events.TopicReceipts, Key: []byte("c"), Value: []byte{0xff}},
	} {
		b.addAny(r)
	}
	if b.tally.bad != 7 || b.rows() != 0 || !strings.Contains(b.tally.lastBad.Error(), "tidemark.receipts/0/0: not written to SQL") {
		t.Errorf("%d are bad, %d rows, the last %v", b.tally.bad, b.rows(), b.tally.lastBad)
	}
}

// No error and no name contains the password, wherever in the address it is.
func TestAddressHidesItsPassword(t *testing.T) {
	for _, dsn := range []string{
		"postgres://u:hunter2@db:5432/x", "postgres://u@db/x?password=hunter2", "postgres://u:hunter2@db:port/x",
		"postgres://u:hunter2@db/x?sslmode=nonsense", "host=db password=hunter2", "://u:hunter2@", "postgres://u:hunter2%zz@db/x",
	} {
		if !PasswordIn(dsn) {
			t.Errorf("%s: the password is not found", dsn)
		}
		if addr, err := ParseAddress(dsn, ""); err != nil && strings.Contains(err.Error(), "hunter2") || err == nil && strings.Contains(addr.String(), "hunter2") {
			t.Errorf("%s: %v, %v", dsn, addr, err)
		}
	}
	addr, err := ParseAddress("postgres://u@db:5433/x", "hunter2")
	if err != nil || addr.String() != "db:5433/x" || PasswordIn("postgres://u@db:5433/x") {
		t.Fatal(addr, err)
	}
	if got := addr.redact(&RecordError{Err: errKey, Topic: "hunter2"}); strings.Contains(got.Error(), "hunter2") {
		t.Error(got)
	}
}

// Every series that an alert uses exists before the first event; the lag has one for each owned
// partition.
func TestSeriesFromTheStart(t *testing.T) {
	s := testkit.NewSeries()
	newMetrics(s)
	s.AllBegun(t, "tidemark_sql_lag_records")
}
