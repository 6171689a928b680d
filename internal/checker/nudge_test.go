package checker

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/workload"
	"github.com/tidemark/tidemark/projections"
)

// partitionsOfTest is how many the logs of these tests have.
const partitionsOfTest = 2

// written are the records of n events of a small company, with the offsets that a log would give them.
func written(n int) (records []*kgo.Record) {
	next := map[string]int64{}
	w := workload.New(1, workload.Company{Partitions: partitionsOfTest, People: 8, Busy: []int{3, 5}, Quiet: 4}, func(r *kgo.Record) {
		at := fmt.Sprint(r.Topic, r.Partition)
		r.Offset = next[at]
		next[at]++
		records = append(records, r)
	})
	w.Write(n)
	return records
}

// TestNudgesChangeWhatIsTold: after its nudge, what the model says of a key has another value and a stamp that dominates,
// for channels and for threads.
func TestNudgesChangeWhatIsTold(t *testing.T) {
	records := written(800)
	l := NewLog(projections.DefaultSettings(), partitionsOfTest, records)
	nudges := l.Nudges(time.UnixMilli(1_750_000_000_000))
	next := map[int32]int64{}
	for _, r := range records {
		if r.Topic == events.TopicReads {
			next[r.Partition] = r.Offset + 1
		}
	}
	for _, r := range nudges {
		r.Offset = next[r.Partition]
		next[r.Partition]++
	}
	after := NewLog(projections.DefaultSettings(), partitionsOfTest, slices.Concat(records, nudges))
	channels, threads := 0, 0
	for _, channel := range l.Channels() {
		for _, user := range l.Users {
			for _, thread := range append([]string{""}, l.Model(channel).Threads(channel)...) {
				was, ok := seen(l.Model(channel), user, channel, thread)
				if !ok || l.Model(channel).Deleted(channel) {
					continue
				}
				is, _ := seen(after.Model(channel), user, channel, thread)
				if is.Stamp == was.Stamp || !is.Stamp.Dominates(was.Stamp) || promised(is, is) == promised(was, was) {
					t.Errorf("%s in %s, thread %q: %+v after the nudge, %+v before", user, channel, thread, is, was)
				}
				if thread == "" {
					channels++
				} else {
					threads++
				}
			}
		}
	}
	if channels == 0 || threads == 0 || channels+threads != len(nudges) {
		t.Errorf("%d channels and %d threads were nudged with %d records", channels, threads, len(nudges))
	}
}

// TestUndecided: two values of which neither stamp dominates the other leave a key undecided, a third that dominates both
// decides it. Where both say the same there is nothing to decide.
func TestUndecided(t *testing.T) {
	value := func(m, r int64) *kgo.Record {
		d := events.UnreadDelta{UserID: []byte("u"), ChannelID: []byte("c"), Member: true, Unread: uint32(min(m, 3)), Stamp: events.Stamp{FoldVersion: 1, M: m, R: r}}
		return &kgo.Record{Topic: events.TopicUnread, Key: events.AppendUnreadKey(nil, d.UserID, d.ChannelID, nil), Value: events.AppendUnreadDelta(nil, &d)}
	}
	var f Findings
	for _, c := range []struct {
		records []*kgo.Record
		want    int
	}{
		{[]*kgo.Record{value(1, 1), value(2, 1)}, 0},
		{[]*kgo.Record{value(2, 1), value(1, 2)}, 1},
		{[]*kgo.Record{value(2, 1), value(1, 2), value(2, 2)}, 0},
		{[]*kgo.Record{value(4, 1), value(3, 2)}, 0},
	} {
		if got := NewHistory(c.records, &f).Undecided(); len(got) != c.want {
			t.Errorf("undecided are %q, want %d", got, c.want)
		}
	}
	if f.Count > 0 {
		t.Error(f.First)
	}
}
