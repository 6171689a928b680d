package projections_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// seededStory folds a story into a partition of its own.
func seededStory(t *testing.T, fs *vfs.MemFS, story string) *projections.Partition {
	t.Helper()
	p := open(t, fs, projections.DefaultSettings())
	var parser script.Parser
	records, err := parser.Parse(story)
	if err != nil {
		t.Fatal(err)
	}
	var log script.Log
	for _, r := range records {
		r = log.Add(r)
		r.Fold(p)
	}
	return p
}

// Every query about the largest possible seed is arithmetic: it takes no more time, memory or disk
// than one message. The naive model cannot count that far, so this test states the numbers.
func TestSeededIsConstant(t *testing.T) {
	const count = events.MaxSeeded
	story := func(count int) string {
		return fmt.Sprintf(`
seed %d messages
a, b join counting history
b posts m1 "hello" @a
delete seq 1
a reads up to seq 1
c joins
b posts m2
a misses m2
a marks unread seq 1 head m2
`, count)
	}
	fs := vfs.NewMem()
	p := seededStory(t, fs, story(count))
	check := func(p *projections.Partition) {
		t.Helper()
		for user, want := range map[string]uint32{"a": count + 1, "c": 1, "nobody": count + 1} {
			v, ok := p.View(user, "c")
			if !ok || v.Unread != want {
				t.Errorf("%s has %d unread, want %d", user, v.Unread, want)
			}
			x, ok := p.Explain(user, "c")
			if !ok || x.Unread != want || x.Unnamed+uint32(len(x.MessageIDs)) != want {
				t.Errorf("the explanation of %s has %d unread: %d ids and %d without one, want %d", user, x.Unread, len(x.MessageIDs), x.Unnamed, want)
			}
		}
		c, ok := p.Channel("c")
		if !ok || c.HeadSeq != count+2 || c.HeadPos != count+2 || c.Latest.Seq != count+2 || c.Latest.MessageID != "m2" {
			t.Errorf("the channel is %+v", c)
		}
		if v, _ := p.View("a", "c"); v.FirstUnread.Seq != 2 || v.Mentions != 1 || v.OfflineUnread != 1 {
			t.Errorf("a sees %+v", v)
		}
		if err := p.Err(); err != nil {
			t.Fatal(err)
		}
	}
	check(p)
	cut(t, p)
	large := len(dump(t, p))
	closePartition(t, p)
	p = open(t, fs, projections.DefaultSettings())
	check(p)
	closePartition(t, p)

	small := seededStory(t, vfs.NewMem(), story(1))
	cut(t, small)
	if n := len(dump(t, small)); large > n+300 {
		t.Errorf("the records take %d bytes, those of one seeded message %d", large, n)
	}
	closePartition(t, small)
}

// A channel can be seeded and then filled up to the last seq.
func TestSeededChannelReads(t *testing.T) {
	p := seededStory(t, vfs.NewMem(), fmt.Sprintf("seed %d messages\na joins counting history\n", events.MaxSeeded))
	defer closePartition(t, p)
	fold := func(line string, want projections.Outcome) {
		t.Helper()
		var parser script.Parser
		records, err := parser.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		pos := p.Position()
		for i := range records {
			records[i].Offset = pos[records[i].Input]
			if got := records[i].Fold(p); got != want {
				t.Errorf("%s: outcome %d, want %d", line, got, want)
			}
		}
	}
	fold("seed 3 messages", projections.OutcomeIgnored)
	fold("delete seq 5", projections.OutcomeApplied)
	fold("delete x seq 5", projections.OutcomeDuplicate)
	fold(fmt.Sprintf("delete seq %d", uint32(events.MaxSeeded)+1), projections.OutcomeIgnored)
	fold(fmt.Sprintf("a reads up to seq %d", uint32(events.MaxSeeded)), projections.OutcomeApplied)
	fold("a marks unread seq 4 head seq 4", projections.OutcomeApplied)
	if v, _ := p.View("a", "c"); v.Unread != events.MaxSeeded-4 {
		t.Errorf("a has %d unread", v.Unread)
	}
	fold(fmt.Sprintf("purge up to seq %d", uint32(events.MaxSeeded)-1), projections.OutcomeApplied)
	if v, _ := p.View("a", "c"); v.Unread != 1 || v.FirstUnread.Seq != events.MaxSeeded {
		t.Errorf("a sees %+v", v)
	}
}
