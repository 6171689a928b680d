package projections

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/pending"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// feed folds events at the next offsets. now is the time of all of them.
type feed struct {
	p   *Partition
	now int64
}

func (f *feed) message(m events.Message) state.Outcome {
	m.OccurredAt = f.now
	return f.p.rules.FoldMessage(&m, f.p.rules.Positions[events.Messages], f.now)
}

func (f *feed) read(r events.Read) state.Outcome {
	r.OccurredAt = f.now
	return f.p.rules.FoldRead(&r, f.p.rules.Positions[events.Reads], f.now)
}

func (f *feed) join(channel string, users ...string) {
	f.message(events.Message{Kind: events.KindMembersJoined, ChannelID: []byte(channel), IDs: idsOf(users)})
}

func (f *feed) post(channel, id, sender, thread string) {
	f.message(events.Message{Kind: events.KindMessagePosted, ChannelID: []byte(channel), MessageID: []byte(id), SenderID: []byte(sender),
		ThreadID: []byte(thread), Preview: []byte("what was said in " + id)})
}

func (f *feed) remove(channel string) {
	f.message(events.Message{Kind: events.KindChannelDeleted, ChannelID: []byte(channel)})
}

func (f *feed) readUpTo(channel, thread, user, id string) {
	f.read(events.Read{Kind: events.KindReadUpTo, ChannelID: []byte(channel), ThreadID: []byte(thread), UserID: []byte(user),
		Target: events.TargetMessageID, MessageID: []byte(id)})
}

func idsOf(users []string) (ids [][]byte) {
	for _, u := range users {
		ids = append(ids, []byte(u))
	}
	return ids
}

func (f *feed) store(t testing.TB) {
	t.Helper()
	f.p.Drain(nil, true)
	mustCut(t, f.p)
}

// comings are kinds of state that come and go. come creates the i-th object, and leave removes them
// all.
var comings = map[string]struct {
	come  func(f *feed, i int)
	leave func(f *feed, from, to int)
}{
	"deleted channels of two": {func(f *feed, i int) {
		c := fmt.Sprint("dm-", i)
		f.join(c, "bot", fmt.Sprint("user-", i))
		f.post(c, fmt.Sprint("hello-", i), "bot", "")
	}, func(f *feed, from, to int) {
		for i := from; i < to; i++ {
			f.remove(fmt.Sprint("dm-", i))
		}
	}},
	"deleted channels of six with a thread": {func(f *feed, i int) {
		if i%10 != 0 {
			return
		}
		c := fmt.Sprint("room-", i)
		f.join(c, "bot", "b", "c", "d", "e", fmt.Sprint("user-", i))
		f.post(c, "root", "bot", "")
		f.post(c, "reply", "b", "root")
		f.readUpTo(c, "root", "c", "reply")
	}, func(f *feed, from, to int) {
		for i := from; i < to; i++ {
			f.remove(fmt.Sprint("room-", i))
		}
	}},
	"channels that only reads name": {func(f *feed, i int) {
		f.readUpTo(fmt.Sprint("unknown-", i), "", "bot", "nothing")
	}, lapse},
	"threads that only reads name": {func(f *feed, i int) {
		f.readUpTo("general", fmt.Sprint("thread-", i), fmt.Sprint("reader-", i%500), "nothing")
	}, lapse},
}

// lapse moves the log time past all waiting events.
func lapse(f *feed, _, _ int) {
	f.now += pending.LapseAfter + 1
	f.post("general", fmt.Sprint("at-", f.now), "somebody", "")
}

// TestWhatIsGoneLeavesMemory: many objects of each kind come and go, one after the other or all at
// the same time. Afterwards less than 10 MiB are in use, the store has at most a short record of
// each, and the lists of the remaining objects are short.
func TestWhatIsGoneLeavesMemory(t *testing.T) {
	for name, coming := range comings {
		total := 40_000
		switch {
		case testing.Short():
			total = 10_000
		case name == "deleted channels of two":
			total = 200_000
		}
		for _, atOnce := range []int{1000, total} {
			t.Run(fmt.Sprintf("%s, %d at once", name, atOnce), func(t *testing.T) {
				p := mustOpen(t, vfs.NewMem(), testIdentity())
				defer p.Close()
				f := &feed{p, 1000}
				f.join("general", "bot", "somebody")
				f.store(t)
				hot, stored := p.hotBytes(), storedBytes(t, p)
				for from := 0; from < total; from += atOnce {
					for i := from; i < from+atOnce; i++ {
						if coming.come(f, i); i%5000 == 4999 {
							f.store(t)
						}
					}
					f.store(t)
					coming.leave(f, from, from+atOnce)
					f.store(t)
				}
				lapse(f, 0, 0) // one cut writes it; without waiting events it leaves with the next
				f.store(t)
				if grown := p.hotBytes() - hot; grown > 10<<20 {
					t.Errorf("hot bytes have grown by %.1f MiB", float64(grown)/(1<<20))
				}
				each := (storedBytes(t, p) - stored) / total
				if each > 64 {
					t.Errorf("the store has grown by %d bytes for each", each)
				}
				t.Logf("hot bytes grew by %.1f MiB, the store by %d bytes for each, %+v", float64(p.hotBytes()-hot)/(1<<20), each, p.Stats())
				for _, u := range []string{"bot", "somebody"} {
					if !p.fewRows(p.rules.Users.At(p.rules.UserOf([]byte(u))).First, 64) {
						t.Errorf("the list of %s has more than 64 rows", u)
					}
				}
				if s := p.Stats(); s.Channels != 1 || s.Pairs > 2+500 {
					t.Errorf("%d channels and %d pairs are left, want one with two members", s.Channels, s.Pairs)
				}
			})
		}
	}
}

// TestPairsWhoseThreadsLeftNeedNoRare: once a user's rows in threads have left, the row of their pair
// implies the rest again.
func TestPairsWhoseThreadsLeftNeedNoRare(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	f := &feed{p, 1000}
	f.join("general", "bot", "somebody")
	f.readUpTo("general", "a thread", "bot", "nothing")
	lapse(f, 0, 0)
	f.readUpTo("general", "", "bot", fmt.Sprint("at-", f.now))
	if p.rules.Rares.Len() == 0 {
		t.Fatal("there is no Rare from the beginning, so this shows nothing")
	}
	f.store(t)
	f.store(t)
	if s := p.Stats(); s.Pairs != 2 || p.rules.Rares.Len() != 0 {
		t.Errorf("%d rows have %d Rares, want 2 without one", s.Pairs, p.rules.Rares.Len())
	}
}

// TestLeavingChangesNothing: for random events about channels that come and go and are read before
// and after, a partition with many cuts has the same answers and the same store as one with a
// single cut, and uses as much memory as one that was just opened.
func TestLeavingChangesNothing(t *testing.T) {
	runs := 600
	if testing.Short() {
		runs = 150
	}
	first := rand.Int63()
	t.Logf("seeds from %d", first)
	for seed := first; seed < first+int64(runs); seed++ {
		fs := vfs.NewMem()
		cutOften, cutOnce := mustOpen(t, fs, testIdentity()), mustOpen(t, vfs.NewMem(), testIdentity())
		rng := rand.New(rand.NewSource(seed))
		often, once := &feed{p: cutOften, now: 1000}, &feed{p: cutOnce, now: 1000}
		steps := 20 + rng.Intn(150)
		for range steps {
			if rng.Intn(20) == 0 {
				often.now += pending.LapseAfter/2 + rng.Int63n(pending.LapseAfter)
			}
			often.now += rng.Int63n(3)
			once.now = often.now
			event := comingEvent(rng)
			if a, b := event(often), event(once); a != b {
				t.Fatalf("seed %d: outcome %v where it is cut often, %v where it is not", seed, a, b)
			}
			if rng.Intn(4) == 0 {
				often.store(t)
			}
		}
		often.store(t)
		once.store(t)
		if cutOften.rules.Digest() != cutOnce.rules.Digest() {
			t.Fatalf("seed %d: the digests differ", seed)
		}
		if _, err := Compare(cutOften, cutOnce, func(d Difference) bool { t.Errorf("seed %d: %s", seed, d); return true }); err != nil {
			t.Fatal(err)
		}
		// A channel that no message ever names leaves with the cut after the one that wrote it. The
		// first event here lets events lapse; the first cut writes that, and the second one removes
		// the channel.
		for range 2 {
			often.message(events.Message{Kind: events.KindMembersJoined, ChannelID: []byte("last"), IDs: idsOf([]string{"u0"})})
			often.store(t)
		}
		counts := countsOf(cutOften)
		if err := cutOften.Close(); err != nil {
			t.Fatal(err)
		}
		again := mustOpen(t, fs, testIdentity())
		if opened := countsOf(again); counts != opened {
			t.Fatalf("seed %d: holds %+v, and after it was opened again %+v", seed, counts, opened)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		if err := cutOnce.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// counted has the numbers of objects in memory. It leaves out rows and users in a list of free
// ones.
type counted struct{ channels, pairs, rares, follows, threads int }

func countsOf(p *Partition) (n counted) {
	n = counted{channels: p.rules.Channels.Len(), pairs: p.rules.Rows.Len() - p.rules.VacantRows, rares: p.rules.Rares.Len(), follows: p.rules.Follows.Len()}
	p.rules.Threads.Each(func(*state.Thread) { n.threads++ })
	return n
}

// comingEvent draws an event about few channels, users, threads and messages.
func comingEvent(rng *rand.Rand) func(f *feed) state.Outcome {
	name := func(of string, n int) string { return fmt.Sprint(of, rng.Intn(n)) }
	channel, user, other, id, thread := name("c", 4), name("u", 3), name("u", 3), name("m", 8), name("m", 8)
	if rng.Intn(2) == 0 {
		thread = ""
	}
	kind, seq := rng.Intn(20), uint32(rng.Intn(6))
	return func(f *feed) state.Outcome {
		m := events.Message{ChannelID: []byte(channel)}
		r := events.Read{ChannelID: []byte(channel), UserID: []byte(user), ThreadID: []byte(thread)}
		switch {
		case kind == 0:
			m.Kind = events.KindChannelDeleted
			return f.message(m)
		case kind < 3:
			m.Kind, m.IDs = events.KindMembersJoined, idsOf([]string{user, other})
			return f.message(m)
		case kind == 3:
			m.Kind, m.IDs = events.KindMembersLeft, idsOf([]string{user})
			return f.message(m)
		case kind < 8:
			m.Kind, m.MessageID, m.SenderID, m.ThreadID = events.KindMessagePosted, []byte(id), []byte(user), []byte(thread)
			return f.message(m)
		case kind < 13:
			r.Kind, r.Target, r.MessageID = events.KindReadUpTo, events.TargetMessageID, []byte(id)
			if seq > 3 {
				r.Target, r.Seq = events.TargetSeq, seq
			} else if seq > 2 {
				r.Target, r.TargetTime = events.TargetTime, f.now
			}
		case kind == 13:
			r.Kind, r.IDs = events.KindMessagesRead, [][]byte{[]byte(id)}
		case kind == 14:
			r.Kind, r.MessageID = events.KindMarkedUnread, []byte(id)
		case kind == 15:
			r.Kind, r.ThreadID = events.KindThreadFollowed, []byte(id)
		case kind == 16:
			r.Kind, r.ThreadID = events.KindThreadUnfollowed, []byte(id)
		case kind == 17:
			r.Kind, r.ThreadID, r.Muted = events.KindChannelMuted, nil, seq%2 == 0
		case kind == 18:
			r.Kind, r.ThreadID = events.KindUserErased, nil
		default:
			d := events.Delivery{Kind: events.KindDelivered, ChannelID: []byte(channel), UserID: []byte(user), MessageID: []byte(id), OccurredAt: f.now}
			return f.p.rules.FoldDelivery(&d, f.p.rules.Positions[events.Deliveries], f.now)
		}
		return f.read(r)
	}
}
