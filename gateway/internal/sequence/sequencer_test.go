package sequence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tidemark/tidemark/events"
)

// recordOf returns a record that includes the events before offset m, with this many messages.
func recordOf(m int64, head uint32) *events.ChannelRecord {
	return &events.ChannelRecord{
		HeadSeq: head, Stamp: events.Stamp{FoldVersion: 1, M: m}, Latest: events.Head{Seq: head, MessageID: fmt.Append(nil, "m", m-1)},
	}
}

// messageAt returns the message at an offset.
func messageAt(offset int64) Message { return Message{Offset: offset, ID: fmt.Sprint("m", offset)} }

// post posts messages, and notes that the feed has seen everything up to the last.
func (q *Sequencer) post(offsets ...int64) {
	for _, o := range offsets {
		q.Post(messageAt(o))
		q.See(o + 1)
	}
}

// settled returns the result of Settle, as id:seq.
func (q *Sequencer) settled() (list []string) {
	for _, m := range q.Settle() {
		list = append(list, fmt.Sprintf("%s:%d", m.ID, m.Seq))
	}
	return list
}

// Messages wait until a record includes them, and a record waits until the messages that it
// includes have been seen.
func TestMessagesAndRecordsWaitForEachOther(t *testing.T) {
	var q Sequencer
	q.post(10, 11)
	if got := q.settled(); got != nil {
		t.Errorf("without a record: %v", got)
	}
	q.Take(recordOf(11, 7)) // it includes only the first
	if got, want := q.settled(), []string{"m10:7"}; !slices.Equal(got, want) {
		t.Errorf("the first record: %v, want %v", got, want)
	}
	q.Take(recordOf(13, 9))
	if got := q.settled(); got != nil {
		t.Errorf("a record that is ahead of the feed: %v", got)
	}
	q.post(12)
	if got, want := q.settled(), []string{"m11:8", "m12:9"}; !slices.Equal(got, want) {
		t.Errorf("the feed has caught up: %v, want %v", got, want)
	}
	if q.Reach() != 13 {
		t.Errorf("the members were told up to %d, want 13", q.Reach())
	}
	if q.Take(recordOf(12, 8)) || q.Take(recordOf(13, 9)) {
		t.Error("a record that is no newer was taken")
	}
}

// A message that was written twice is returned once, whether both copies wait or the first is gone.
func TestAMessageThatWasWrittenTwice(t *testing.T) {
	var q Sequencer
	twice := func(offset int64) { m := messageAt(offset); m.ID = "same"; q.Post(m); q.See(offset + 1) }
	twice(10)
	twice(11)
	q.Take(recordOf(12, 1))
	if got, want := q.settled(), []string{"same:1"}; !slices.Equal(got, want) {
		t.Errorf("both wait: %v, want %v", got, want)
	}
	twice(12)
	q.post(13)
	q.Take(recordOf(14, 2))
	if got, want := q.settled(), []string{"m13:2"}; !slices.Equal(got, want) {
		t.Errorf("the first is gone: %v, want %v", got, want)
	}
}

// Some messages of a group are so old that their ids have left the index. Then only the seq of the
// message that the record names is certain.
func TestAGroupThatIsLargerThanTheHeadMoved(t *testing.T) {
	var q Sequencer
	q.post(10)
	q.Take(recordOf(11, 100))
	q.settled()
	q.post(11, 12, 13)
	q.Take(recordOf(14, 102)) // two are new
	if got, want := q.settled(), []string{"m11:0", "m12:0", "m13:102"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The number of waiting messages is limited. A lost message is reported once, when the remaining
// ones have their seqs.
func TestWhatWaitsIsBounded(t *testing.T) {
	var q Sequencer
	for o := range int64(maxPending + 3) {
		q.post(o)
	}
	if len(q.pending) > maxPending {
		t.Errorf("%d messages wait", len(q.pending))
	}
	if q.Overflowed() {
		t.Error("it is reported before what is left has its seqs")
	}
	q.Take(recordOf(maxPending+3, maxPending+3))
	if got, want := q.settled(), 3; len(got) != want || got[2] != fmt.Sprintf("m%d:%d", maxPending+2, maxPending+3) {
		t.Errorf("left are %v, want the last %d", got, want)
	}
	if !q.Overflowed() || q.Overflowed() {
		t.Error("it is not reported once")
	}
	for m := range int64(2 * maxAnchors) {
		q.Take(recordOf(maxPending+10+m, maxPending+10))
	}
	if len(q.anchors) > maxAnchors || q.anchors[len(q.anchors)-1].m != maxPending+10+2*maxAnchors-1 {
		t.Errorf("%d records wait, the last of %d", len(q.anchors), q.anchors[len(q.anchors)-1].m)
	}
}

// After a gap in the feed nothing waits any more, and the newest record is still known.
func TestRestart(t *testing.T) {
	var q Sequencer
	q.Take(recordOf(5, 3))
	q.post(10)
	q.Restart()
	if q.Reach() != 5 || q.Latest.Seq != 3 {
		t.Errorf("told up to %d with head %d, want 5 and 3", q.Reach(), q.Latest.Seq)
	}
	q.post(20)
	q.Take(recordOf(21, 9))
	if got, want := q.settled(), []string{"m20:9"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// However the feed and the records overtake each other, every message comes once, in order, and has
// the seq that the fold gave it.
func TestSeqsAreThoseOfTheFold(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var q Sequencer
		const total = 40
		var got []string
		seen, folded := int64(0), int64(0) // offsets; the message at offset o has seq o+1
		for seen < total || folded < total {
			if seen < total && (r.IntN(2) == 0 || folded == total) {
				q.post(seen)
				seen++
			} else if folded < total {
				folded = min(total, folded+1+r.Int64N(5))
				q.Take(recordOf(folded, uint32(folded)))
			}
			got = append(got, q.settled()...)
		}
		for o := range total {
			if want := fmt.Sprintf("m%d:%d", o, o+1); len(got) != total || got[o] != want {
				t.Fatalf("seed %d: %v", seed, got)
			}
		}
	}
}
