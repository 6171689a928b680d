package projections

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/rules"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// threadsToExpire returns how many threads a test of this file makes.
func threadsToExpire() int {
	if testing.Short() {
		return 1500
	}
	return 5000
}

func threadRoot(i int) string { return fmt.Sprintf("message-%07d", i) }

// TestExpiredThreadsLeaveMemory: reads in threads name roots and messages by ids that are past
// index_retention. Their events end as soon as log time has passed them, not after the week that an
// unknown id waits. Then the threads leave memory and store, all of them.
func TestExpiredThreadsLeaveMemory(t *testing.T) {
	n := threadsToExpire()
	fs := vfs.NewMem()
	p := mustOpen(t, fs, testIdentity())
	f := &feed{p, 1000}
	readers := make([]string, 100)
	for i := range readers {
		readers[i] = fmt.Sprintf("reader-%02d", i)
	}
	f.join("general", append(readers, "anna")...)
	for i := range n {
		f.post("general", threadRoot(i), "anna", "")
	}
	f.now += p.rules.Settings.IndexRetention + 1
	f.post("general", "new", "anna", "")
	f.store(t)
	before, hot, stored := countsOf(p), p.hotBytes(), storedBytes(t, p)
	before.rares += len(readers) // for the offset of each user's last read

	for i := range n {
		r := events.Read{
			ChannelID: []byte("general"), ThreadID: []byte(threadRoot(i)), UserID: []byte(readers[i%len(readers)]), OccurredAt: f.now,
			Kind: events.KindReadUpTo, Target: events.TargetMessageID, MessageID: []byte(threadRoot(i)),
		}
		if i%2 == 1 {
			r.Kind, r.Target, r.MessageID, r.IDs = events.KindMessagesRead, 0, nil, [][]byte{[]byte(threadRoot(i))}
		}
		if out := f.read(r); out != state.OutcomeExpiredID {
			t.Fatalf("a read in thread %d has outcome %v, want %v", i, out, state.OutcomeExpiredID)
		}
		if i == n/2 {
			f.store(t)
		}
	}
	f.store(t)
	if now := countsOf(p); now.threads != n || now.follows != n {
		t.Fatalf("before log time passes the reads there are %+v, want %d threads with a row each", now, n)
	}

	for i := range 2 { // the first cut writes what ends, and the second one finds nothing to do
		f.now++
		f.post("general", fmt.Sprint("newer-", i), "anna", "")
		f.store(t)
	}
	if now := countsOf(p); now != before {
		t.Errorf("after log time has passed the reads there are %+v, want %+v as before them", now, before)
	}
	if grown := p.hotBytes() - hot; grown > 512<<10+200*int64(n) { // triggers are cleared once there are more of them (TestHintsAreForgotten)
		t.Errorf("memory has grown by %d KiB", grown>>10)
	}
	if grown := storedBytes(t, p) - stored; grown > 2<<10 { // the two messages
		t.Errorf("the store has grown by %d bytes", grown)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p = mustOpen(t, fs, testIdentity())
	defer p.Close()
	if now := countsOf(p); now != before {
		t.Errorf("after the store was opened again there are %+v, want %+v", now, before)
	}
}

// TestUnlistedThreadsKeepOnlyTheirRows: threads are followed, hold reads that wait, and get too old
// to be listed. Everything that waited in them leaves memory. The thread and the rows of its
// followers stay, because a reply lists it again (docs/guarantees.md), and take as much memory as
// in a store that was just opened.
func TestUnlistedThreadsKeepOnlyTheirRows(t *testing.T) {
	n := threadsToExpire()
	fs := vfs.NewMem()
	p := mustOpen(t, fs, testIdentity())
	defer func() { p.Close() }()
	f := &feed{p, 1000}
	f.join("general", "anna", "bert")
	for i := range n {
		f.post("general", threadRoot(i), "anna", "")
	}
	f.store(t)
	for i := range n {
		f.post("general", fmt.Sprint("reply-", i), "bert", threadRoot(i))
		f.readUpTo("general", threadRoot(i), "anna", "nothing")
		f.read(events.Read{
			Kind: events.KindMessagesRead, ChannelID: []byte("general"), ThreadID: []byte(threadRoot(i)), UserID: []byte("bert"),
			IDs: idsOf([]string{"nothing"}),
		})
	}
	f.store(t)
	if got := extras(p); got != 2*n {
		t.Fatalf("%d rows hold reads, want %d", got, 2*n)
	}
	if got := len(threadsOf(p, "anna")); got != n {
		t.Fatalf("%d threads are listed, want %d", got, n)
	}

	f.now += rules.ThreadListedFor + 1
	for i := range 2 {
		f.now++
		f.post("general", fmt.Sprint("later-", i), "somebody", "")
		f.store(t)
	}
	if got := extras(p); got != 0 {
		t.Errorf("%d rows still hold reads", got)
	}
	if got := threadsOf(p, "anna"); len(got) != 0 {
		t.Errorf("%d threads are listed, the first is %s", len(got), got[0])
	}
	ran, counts := p.hotBytes(), countsOf(p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p = mustOpen(t, fs, testIdentity())
	if opened := countsOf(p); counts != opened {
		t.Errorf("holds %+v, and after it was opened again %+v", counts, opened)
	}
	if opened := p.hotBytes(); ran > opened+opened/8 {
		t.Errorf("%d KiB of memory, and %d after it was opened again", ran>>10, opened>>10)
	}
	f.p = p
	f.post("general", "again", "bert", threadRoot(7))
	if got := threadsOf(p, "anna"); len(got) != 1 {
		t.Errorf("a reply lists %d threads again, want 1", len(got))
	}
}

// extras returns how many rows have more than their fixed part: held events or sets of messages.
func extras(p *Partition) (n int) {
	p.rules.Rows.Each(func(_ uint32, r *state.Row) {
		if p.rules.ExtraOfPair(r) != nil {
			n++
		}
	})
	return n
}

// threadsOf returns the ids of the threads that a user's panel lists.
func threadsOf(p *Partition, user string) (ids []string) {
	_ = p.Threads(user, func(v *ThreadView) bool {
		ids = append(ids, v.ThreadID)
		return true
	})
	return ids
}

// TestTriggersOfRowsThatAreGone: a trigger may name a row whose memory was freed.
func TestTriggersOfRowsThatAreGone(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	f := &feed{p, 1000}
	f.join("general", "anna")
	f.post("general", "m1", "anna", "")
	const gone = 1 << 20
	_, c, _ := p.rules.KnownChannel("general")
	w := &p.rules.EnsureExtra(c).Wait
	w.AwaitID([]byte("m2"), gone)
	w.Seqs.Push(2, gone)
	w.Times.Push(1<<40, gone)
	p.rules.Lapses.Push(0, gone)
	f.post("general", "m2", "anna", "")
	if p.Drain(nil, true); p.Err() != nil || len(w.IDs)+len(w.Seqs) > 0 {
		t.Fatalf("%v; %d and %d triggers are left", p.Err(), len(w.IDs), len(w.Seqs))
	}
}
