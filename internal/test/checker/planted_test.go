package checker

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

var update = flag.Bool("update", false, "write the golden file instead of comparing with it")

// tale is a log of one channel in JSON, a topic and a value each, that a person can follow: ann
// posts three messages, the third of which mentions bob, and a reply in a thread; bob reads the
// first.
var tale = [][2]string{
	{events.TopicMessages, `{"channel_id":"general","members_joined":{"user_ids":["ann","bob"]}}`},
	{events.TopicMessages, `{"channel_id":"general","message_posted":{"message_id":"m1","sender_id":"ann"}}`},
	{events.TopicMessages, `{"channel_id":"general","message_posted":{"message_id":"m2","sender_id":"ann"}}`},
	{events.TopicReads, `{"channel_id":"general","user_id":"bob","read_up_to":{"message_id":"m1"}}`},
	{events.TopicMessages, `{"channel_id":"general","message_posted":{"message_id":"m3","sender_id":"ann","mentions":["bob"]}}`},
	{events.TopicReads, `{"channel_id":"general","user_id":"bob","thread_followed":{"thread_id":"m1"}}`},
	{events.TopicMessages, `{"channel_id":"general","message_posted":{"message_id":"r1","sender_id":"ann","thread_id":"m1"}}`},
	{events.TopicMessages, `{"channel_id":"general","message_posted":{"message_id":"h1","sender_id":"ann","silent":true,"hidden_from":["bob"]}}`},
	{events.TopicMessages, `no event`},
}

// publishedLog is a log of one partition in JSON, a topic and a value each.
func publishedLog(tale ...[2]string) (records []*kgo.Record) {
	next := map[string]int64{}
	for _, line := range tale {
		records = append(records, &kgo.Record{Topic: line[0], Key: []byte("general"), Value: []byte(line[1]), Offset: next[line[0]],
			Timestamp: time.UnixMilli(1_750_000_000_000)})
		next[line[0]]++
	}
	return records
}

// publishedOf returns the records of tidemark.unread that a fold publishes, one input record at a
// time.
func publishedOf(t *testing.T, records []*kgo.Record) (out []*kgo.Record) {
	t.Helper()
	p := opened(t)
	for _, r := range records {
		Fold(p, r, 1)
		var d projections.Deltas
		p.Drain(&d, true)
		for _, o := range d.Records {
			if o.Topic == projections.OutUnread {
				out = append(out, &kgo.Record{Topic: events.TopicUnread, Key: slices.Clone(o.Key), Value: slices.Clone(o.Value),
					Offset: int64(len(out)), ProducerID: 1})
			}
		}
	}
	return out
}

func opened(t *testing.T) *projections.Partition { return openedWith(t, projections.DefaultSettings()) }

func openedWith(t *testing.T, s projections.Settings) *projections.Partition {
	t.Helper()
	p, err := projections.Open("store", projections.Identity{Partitions: 1, Settings: s}, projections.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// folded returns a store that has folded the records in the given order. It skips a nil record, as
// if it were bad.
func folded(t *testing.T, records []*kgo.Record, leaveOut int) *projections.Partition {
	t.Helper()
	p := opened(t)
	for i, r := range records {
		if i == leaveOut {
			p.Skip(input(r), r.Offset+1)
		} else {
			Fold(p, r, 1)
		}
	}
	var out projections.Deltas
	p.Drain(&out, true)
	cut, err := p.Cut()
	if err == nil {
		err = cut.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPlantedDifferencesAreToldInWords plants a difference for each invariant in what an attack
// leaves behind. The check finds each one and describes it as in testdata/planted.txt. Without a
// planted difference it finds none.
func TestPlantedDifferencesAreToldInWords(t *testing.T) {
	records := publishedLog(tale...)
	published := publishedOf(t, records)
	l := NewLog(projections.DefaultSettings(), 1, records)
	whole := folded(t, records, -1)
	history := func(published []*kgo.Record) *Findings {
		f := &Findings{What: "tidemark.unread against the model of the log"}
		h := NewHistory(published, f)
		h.Stamps(f)
		h.Newest(l, f)
		return f
	}
	digests := func(records []*kgo.Record) *Findings {
		f, err := Digests(whole.Identity(), records, whole.Digest())
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	mirror := func(values []*kgo.Record) *Findings {
		var m Mirror
		for _, r := range values {
			if err := m.Apply(r.Value); err != nil {
				t.Fatal(err)
			}
		}
		return m.Check(l)
	}
	device := func(frames ...string) *Findings {
		d := &Device{User: "bob"}
		d.Connected()
		for _, frame := range frames {
			if err := d.Apply([]byte(frame)); err != nil {
				t.Fatal(err)
			}
		}
		return d.Check(l, 1_750_000_000_000)
	}
	inbox := func(unread, badge int) string {
		return fmt.Sprintf(`{"type":"inbox","channels":[{"channel_id":"general","member":true,"unread":%d,"mentions":1,"direct_mentions":1,"first_unread":{"message_id":"m2","seq":2},"first_mention":{"message_id":"m3","seq":3},`+
			`"last_read":{"message_id":"m1","seq":1},"latest":{"message_id":"m3","seq":3},"read_epoch":1}],"threads":[{"channel_id":"general","thread_id":"m1","unread":0,`+
			`"last_reply":{"message_id":"r1","seq":4},"read_epoch":1}],`+
			`"totals":{"unread":%d,"mentions":1,"unread_channels":1,"thread_unread":0,"thread_mentions":0,"unread_threads":0,"badge":%d}}`, unread, unread, badge)
	}
	letter := func(reason string) []DeadLetter {
		bad := l.Bad[0]
		return []DeadLetter{{Record: &kgo.Record{Value: bad.Value, Key: bad.Key}, Source: fmt.Sprintf("%s/0/%d", bad.Topic, bad.Offset), Reason: reason,
			Detail: "in words", Timestamp: fmt.Sprint(bad.Timestamp.UnixMilli())}}
	}
	last := len(published) - 1
	byOffset := slices.Clone(records) // each topic alone, one topic after the other
	slices.SortStableFunc(byOffset, func(a, b *kgo.Record) int { return strings.Compare(b.Topic, a.Topic) })
	swapped := slices.Clone(published)
	swapped[last] = Lied(t, published[last], func(d *events.UnreadDelta) { d.Unread += 7 })

	var got strings.Builder
	for _, c := range []struct {
		what  string
		found *Findings
		right bool
	}{
		{"nothing: store", Store(l, whole), true},
		{"nothing: digest, also in another order (O11)", digests(byOffset), true},
		{"nothing: deltas", history(published), true},
		{"nothing: reader", mirror(published), true},
		{"nothing: device", device(inbox(2, 2)), true},
		{"nothing: dead letters", DeadLetters(l, letter("undecodable"), nil), true},

		{"O1 O4: a message was not folded", Store(l, folded(t, records, 4)), false},
		{"O3: a read was not folded", Store(l, folded(t, records, 3)), false},
		{"O5: the replay lacks a record", digests(slices.Delete(slices.Clone(records), 2, 3)), false},
		{"O6: the newest value is wrong", history(swapped), false},
		{"O6: equal stamps, other bytes", history(append(slices.Clone(published), swapped[last])), false},
		{"O6: the last value is an old one", history(append(slices.Clone(published), Lied(t, published[0], func(*events.UnreadDelta) {}))), false},
		{"O7: a reader lacks the last value", mirror(published[:1]), false},
		{"O8: a device is told another count", device(inbox(3, 3)), false},
		{"O8: a device is told another badge", device(inbox(2, 3)), false},
		{"O8: a device is told a level that nobody set", device(strings.Replace(inbox(2, 2), `"member":true`, `"member":true,"level":"MENTIONS","flagged":true`, 1)), false},
		{"O8: a device has heard nothing", device(), false},
		{"O9: a message that is hidden from them", device(inbox(2, 2), `{"type":"message.new","channel_id":"general","message_id":"h1"}`), false},
		{"O9: a message of a channel that is none of theirs", device(inbox(2, 2), `{"type":"message.new","channel_id":"secret","message_id":"m9"}`), false},
		{"a bad record has no dead letter", DeadLetters(l, nil, nil), false},
		{"a dead letter says another reason", DeadLetters(l, letter("no_kind"), nil), false},
	} {
		if c.right != (c.found.Count == 0) {
			t.Errorf("%s: %s", c.what, c.found)
		}
		if !c.right {
			fmt.Fprintf(&got, "## %s\n%s\n\n", c.what, c.found)
		}
	}
	const golden = "testdata/planted.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the findings differ from %s (-update writes it):\n%s", golden, got.String())
	}
}
