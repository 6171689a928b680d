package projections

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/pending"
	"github.com/tidemark/tidemark/projections/internal/state"
)

func post(p *Partition, channel, id, sender string, at int64) state.Outcome {
	return p.rules.FoldMessage(&events.Message{Kind: events.KindMessagePosted, ChannelID: []byte(channel), MessageID: []byte(id),
		SenderID: []byte(sender), OccurredAt: at}, p.rules.Positions[events.Messages], at)
}

func readID(p *Partition, user, id string, at int64) state.Outcome {
	return p.rules.FoldRead(&events.Read{Kind: events.KindReadUpTo, ChannelID: []byte("c"), UserID: []byte(user), OccurredAt: at,
		Target: events.TargetMessageID, MessageID: []byte(id)}, p.rules.Positions[events.Reads], at)
}

// TestHeldLimit: a user may have 1,000 held events, and the next one is refused. A read of an
// existing message is never held, and other users are not affected.
func TestHeldLimit(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	post(p, "c", "known", "b", 1)
	for i := range pending.MaxUnsettled {
		if o := readID(p, "a", fmt.Sprintf("unknown-%d", i), 2); o != state.OutcomeWaiting {
			t.Fatalf("read %d: outcome %d", i, o)
		}
	}
	if o := readID(p, "a", "one more", 2); o != state.OutcomeTooManyHeld {
		t.Fatalf("read %d: outcome %d", pending.MaxUnsettled, o)
	}
	mark := &events.Read{Kind: events.KindMarkedUnread, ChannelID: []byte("c"), UserID: []byte("a"), OccurredAt: 3, MessageID: []byte("known")}
	if o := p.rules.FoldRead(mark, p.rules.Positions[events.Reads], 3); o != state.OutcomeTooManyHeld {
		t.Fatalf("mark: outcome %d", o)
	}
	singles := &events.Read{Kind: events.KindMessagesRead, ChannelID: []byte("c"), UserID: []byte("u"), OccurredAt: 3}
	for i := range pending.MaxUnsettled + 1 {
		singles.IDs = append(singles.IDs, []byte(fmt.Sprintf("unknown-%d", i)))
	}
	if o := p.rules.FoldRead(singles, p.rules.Positions[events.Reads], 3); o != state.OutcomeTooManyHeld {
		t.Fatalf("%d single reads in one event: outcome %d", pending.MaxUnsettled+1, o)
	}
	if o := readID(p, "a", "known", 4); o != state.OutcomeApplied {
		t.Fatalf("a read of what is there: outcome %d", o)
	}
	if v, _ := p.View("a", "c"); v.LastRead.Seq != 1 || v.ReadEpoch != 1 || v.Unread != 0 {
		t.Fatalf("%+v", v)
	}
	if o := readID(p, "v", "unknown-1", 4); o != state.OutcomeWaiting {
		t.Fatalf("another user: outcome %d", o)
	}
	post(p, "c", "unknown-7", "b", 5)
	if v, _ := p.View("a", "c"); v.LastRead.MessageID != "unknown-7" {
		t.Fatalf("after the message came: %+v", v)
	}
}

// TestHeldLimitCountsSinglesBehindAMark: single reads of existing messages are held too behind a
// waiting mark. Without a limit one user could make each of their events cost as much as there are
// messages.
func TestHeldLimitCountsSinglesBehindAMark(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	p.rules.FoldMessage(&events.Message{Kind: events.KindMembersJoined, ChannelID: []byte("c"), IDs: [][]byte{[]byte("a"), []byte("u")}, OccurredAt: 1}, 0, 1)
	for i := range 3 * pending.MaxUnsettled {
		post(p, "c", fmt.Sprintf("m%05d", i), "b", 1)
	}
	singles := func(user string, from, to int) state.Outcome {
		e := &events.Read{Kind: events.KindMessagesRead, ChannelID: []byte("c"), UserID: []byte(user), OccurredAt: 3}
		for i := from; i < to; i++ {
			e.IDs = append(e.IDs, fmt.Appendf(nil, "m%05d", i))
		}
		return p.rules.FoldRead(e, p.rules.Positions[events.Reads], 3)
	}
	mark := &events.Read{Kind: events.KindMarkedUnread, ChannelID: []byte("c"), UserID: []byte("a"), OccurredAt: 2, MessageID: []byte("unknown")}
	if o := p.rules.FoldRead(mark, 0, 2); o != state.OutcomeApplied { // it begins an epoch
		t.Fatalf("mark: outcome %d", o)
	}
	for _, step := range []struct {
		from, to int
		want     state.Outcome
	}{
		{0, 600, state.OutcomeApplied},
		{600, 1200, state.OutcomeTooManyHeld}, // 1,201 with the mark
		{0, 600, state.OutcomeDuplicate},      // all of them are held already
		{200, 900, state.OutcomeApplied},
		{900, 999, state.OutcomeApplied},
		{999, 1000, state.OutcomeTooManyHeld},
	} {
		if o := singles("a", step.from, step.to); o != step.want {
			t.Errorf("messages %d to %d: outcome %d, want %d", step.from, step.to, o, step.want)
		}
	}
	if v, _ := p.View("a", "c"); v.Unread != 3*pending.MaxUnsettled-999 {
		t.Errorf("%d unread, want %d", v.Unread, 3*pending.MaxUnsettled-999)
	}
	if o := singles("u", 0, 3*pending.MaxUnsettled); o != state.OutcomeApplied {
		t.Errorf("of a user who holds nothing: outcome %d", o)
	}
}

// TestHintsAreForgotten: an event that closes early leaves triggers behind that wake nothing; they
// do not accumulate.
func TestHintsAreForgotten(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	const n = 30_000
	for i := range int64(n) {
		e := &events.Read{Kind: events.KindReadUpTo, ChannelID: []byte("c"), UserID: []byte("a"), OccurredAt: 2 * i, Target: events.TargetTime, TargetTime: 2 * i}
		p.rules.FoldRead(e, i, 2*i)
		post(p, "c", fmt.Sprintf("m%d", i), "b", 2*i+1)
	}
	x := p.rules.ExtraOf(p.rules.Channels.At(p.rules.ChannelOf([]byte("c"))))
	if got := len(p.rules.Lapses) + len(x.Wait.Times) + len(x.Wait.Seqs) + len(x.Wait.IDs); got > 2*4096+100 {
		t.Fatalf("%d triggers are left of %d reads, of which one is open", got, n)
	}
	if v, _ := p.View("a", "c"); v.Unread != 1 {
		t.Fatalf("%+v", v)
	}
}

// TestMissingRecords: a missing record is corruption, not an empty result.
func TestMissingRecords(t *testing.T) {
	for _, key := range []string{"Cc\x00p\x00\x00\x00\x00", "Cc\x00n\x00\x00", "Cc\x00c", "Lc\x00\x00\x00\x00\x00"} {
		fs := vfs.NewMem()
		p := mustOpen(t, fs, testIdentity())
		formatsLog(t, p)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		removeRecord(t, fs, key)
		if p, err := Open("store", testIdentity(), Options{FS: fs}); err == nil {
			t.Errorf("without %q the store opens: %+v", key, p.Stats())
		}
	}
}

// removeRecord deletes one record through Pebble directly.
func removeRecord(t *testing.T, fs vfs.FS, key string) {
	t.Helper()
	db, err := pebble.Open("store", pebbleOptions("store", Options{FS: fs}))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Delete([]byte(key), pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
}
