package projections

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/views"
)

// lists returns the results of Inbox and Threads, as text, in order.
func lists(p *Partition, user string) (out []string) {
	_ = p.Inbox(user, func(e *InboxEntry) bool {
		out = append(out, fmt.Sprintf("channel %s %d %d %t %d", e.ChannelID, e.Unread, e.Mentions, e.Muted, e.LatestAt))
		return true
	})
	_ = p.Threads(user, func(v *ThreadView) bool {
		out = append(out, fmt.Sprintf("thread %s/%s %d %d %t %d", v.ChannelID, v.ThreadID, v.Unread, v.Mentions, v.Muted, v.LastReply.At))
		return true
	})
	slices.Sort(out)
	return out
}

func swept(s *Sweep) (out []string) {
	if s.Inbox {
		s.EachChannel(func(e *InboxEntry) {
			out = append(out, fmt.Sprintf("channel %s %d %d %t %d", e.ChannelID, e.Unread, e.Mentions, e.Muted, e.LatestAt))
		})
	}
	s.EachThread(func(e *ThreadEntry) {
		out = append(out, fmt.Sprintf("thread %s/%s %d %d %t %d", e.ChannelID, e.ThreadID, e.Unread, e.Mentions, e.Muted, e.RepliedAt))
	})
	slices.Sort(out)
	return out
}

// TestSweepBesideTheFold: whatever is folded between the holds of a sweep, its list is the state at
// the last hold. Views that begin in that hold, and end after more was folded, cut and applied,
// have the state of that position.
func TestSweepBesideTheFold(t *testing.T) {
	several, later := 0, 0
	for seed := range int64(120) {
		p := mustOpen(t, vfs.NewMem(), testIdentity())
		l := newLongLog(seed, 300, 240)
		if seed%2 == 0 { // times jump: waiting events lapse, and threads leave the list
			l = newRandomLog(seed)
		}
		rng := rand.New(rand.NewPCG(uint64(seed), 5))
		fold := func() {
			end, pos := l.end(), p.rules.Position()
			l.foldTo(p, min(end[0], pos[0]+rng.Int64N(20)), min(end[1], pos[1]+rng.Int64N(20)), func() bool { return rng.IntN(2) == 0 })
		}
		for end := l.end(); p.rules.Position() != end; fold() {
			user := logUsers[rng.IntN(len(logUsers))]
			s := &Sweep{UserID: user, Inbox: true, Panel: true, PerHold: 1 + rng.IntN(3)}
			holds := 1
			for ; !s.Step(p); holds++ {
				if rng.IntN(3) == 0 {
					fold()
				}
			}
			if holds > 1 {
				several++
			}
			if got, want := swept(s), lists(p, user); !slices.Equal(got, want) {
				t.Fatalf("seed %d at %v, after %d holds:\n%q\nand all at once:\n%q", seed, p.rules.Position(), holds, got, want)
			}
			var got, want []any
			views := p.BeginViews()
			s.EachChannel(func(e *InboxEntry) {
				v, _ := views.View(user, string(e.ChannelID))
				w, _ := p.View(user, string(e.ChannelID))
				got, want = append(got, v), append(want, &w)
			})
			s.EachThread(func(e *ThreadEntry) {
				v, _ := views.Thread(user, string(e.ChannelID), string(e.ThreadID))
				w, _ := p.Thread(user, string(e.ChannelID), string(e.ThreadID))
				got, want = append(got, v), append(want, &w)
			})
			later += len(views.Wanted)
			for range rng.IntN(3) {
				fold()
				if rng.IntN(2) == 0 {
					mustCut(t, p)
				}
			}
			if err := views.End(context.Background()); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: the views are\n%+v\nand under the lock\n%+v", seed, got, want)
			}
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if several < 100 || later < 100 {
		t.Errorf("%d sweeps took several holds, and %d messages were read later: not the case that is meant", several, later)
	}
}

// TestThreadsOfAChannel: under several holds, a sweep lists the ids of the threads of one channel
// that are listed at the last hold. A thread that is queried alone has the same view as there, or
// that of a thread that the user never followed.
func TestThreadsOfAChannel(t *testing.T) {
	several, listed, unlisted := 0, 0, 0
	for seed := range int64(60) {
		p := mustOpen(t, vfs.NewMem(), testIdentity())
		l := newLongLog(seed, 300, 240)
		if seed%2 == 0 {
			l = newRandomLog(seed)
		}
		rng := rand.New(rand.NewPCG(uint64(seed), 7))
		fold := func() {
			end, pos := l.end(), p.rules.Position()
			l.foldTo(p, min(end[0], pos[0]+rng.Int64N(20)), min(end[1], pos[1]+rng.Int64N(20)), func() bool { return rng.IntN(2) == 0 })
		}
		known := map[string]map[string]bool{"c": {}, "d": {}} // threads by channel
		for end := l.end(); p.rules.Position() != end; fold() {
			user := logUsers[rng.IntN(len(logUsers))]
			channel := logChannels[rng.IntN(len(logChannels))]
			s := &Sweep{UserID: user, ThreadsOf: channel, Panel: true, PerHold: 1 + rng.IntN(3)}
			holds := 1
			for ; !s.Step(p); holds++ {
				if rng.IntN(3) == 0 {
					fold()
				}
			}
			if holds > 1 {
				several++
			}
			var got, want []string
			s.EachThread(func(e *ThreadEntry) { got = append(got, string(e.ThreadID)) })
			views := p.BeginViews()
			p.ThreadsIn(user, channel, func(v *ThreadView) bool {
				want = append(want, v.ThreadID)
				known[channel][v.ThreadID] = true
				return true
			})
			slices.Sort(got)
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Fatalf("seed %d at %v, after %d holds: threads %q of %s in %s, want %q", seed, p.rules.Position(), holds, got, user, channel, want)
			}
			one, all := map[string]*ThreadView{}, map[string]ThreadView{}
			for id := range known[channel] {
				one[id] = views.ListedThread(user, channel, id)
				all[id] = ThreadView{UserID: user, ChannelID: channel, ThreadID: id, ReadEpoch: 1}
			}
			p.ThreadsIn(user, channel, func(v *ThreadView) bool {
				all[v.ThreadID] = *v
				return true
			})
			if err := views.End(context.Background()); err != nil {
				t.Fatal(err)
			}
			for id, v := range one {
				if *v != all[id] {
					t.Fatalf("seed %d: thread %s of %s in %s is\n%+v, want\n%+v", seed, id, user, channel, *v, all[id])
				}
			}
			listed, unlisted = listed+len(want), unlisted+len(one)-len(want)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if several < 20 || listed < 100 || unlisted < 100 {
		t.Errorf("%d lists took several holds, %d threads were listed and %d not: not the case that is meant", several, listed, unlisted)
	}
}

// sweepFixture is a partition in which b talks to a.
type sweepFixture struct {
	p      *Partition
	now, m int64
}

// newSweepFixture makes channels, and in each of them threads that a follows.
func newSweepFixture(t *testing.T, channels, threads int) *sweepFixture {
	r := &sweepFixture{p: mustOpen(t, vfs.NewMem(), testIdentity()), now: 1_790_000_000_000}
	t.Cleanup(func() {
		if err := r.p.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range channels {
		id := fmt.Sprintf("c%05d", i)
		r.message(events.Message{Kind: events.KindMembersJoined, ChannelID: []byte(id), IDs: [][]byte{[]byte("a"), []byte("b")}})
		for n := range threads {
			r.post(id, 2*n, "")
			r.post(id, 2*n+1, fmt.Sprintf("m%05d", 2*n))
		}
	}
	return r
}

func (r *sweepFixture) message(e events.Message) {
	r.now++
	e.OccurredAt = r.now
	r.p.rules.FoldMessage(&e, r.m, r.now)
	r.m++
}

func (r *sweepFixture) post(channel string, n int, thread string) {
	r.message(events.Message{Kind: events.KindMessagePosted, ChannelID: []byte(channel), MessageID: fmt.Appendf(nil, "m%05d", n),
		SenderID: []byte("b"), ThreadID: []byte(thread), IDs: [][]byte{[]byte("a")}})
}

func count(s *Sweep) (threads, channels int) {
	s.EachThread(func(*ThreadEntry) { threads++ })
	s.EachChannel(func(*InboxEntry) { channels++ })
	return threads, channels
}

// TestSweepLetsGo: the work under one hold does not grow with the user's channels, or with the
// threads of one of them. Nothing is read from the store twice, and a later Step examines only what
// has changed.
func TestSweepLetsGo(t *testing.T) {
	const many = 4 * views.SweepLooks
	fixture := newSweepFixture(t, 0, 0)
	p, message, postIn := fixture.p, fixture.message, fixture.post
	both := [][]byte{[]byte("a"), []byte("b")}
	for i := range many {
		id := fmt.Sprintf("c%05d", i)
		message(events.Message{Kind: events.KindMembersJoined, ChannelID: []byte(id), IDs: both})
		postIn(id, 0, "")
		if i%10 == 0 { // the newest counted message is not in memory
			for n := range 2 * history.BlockLen {
				postIn(id, n+1, "m00000")
			}
		}
	}
	message(events.Message{Kind: events.KindMembersJoined, ChannelID: []byte("threads"), IDs: both})
	for n := range many {
		postIn("threads", 2*n, "")
		postIn("threads", 2*n+1, fmt.Sprintf("m%05d", 2*n))
	}
	mustCut(t, p)
	for _, s := range []*Sweep{{UserID: "a", Inbox: true, Panel: true}, {UserID: "a", Panel: true}} {
		reads := 0
		p.onRead = func() { reads++ }
		for done := false; !done; {
			done = s.Step(p)
			if s.Looks > views.SweepLooks {
				t.Errorf("%d looks under a hold", s.Looks)
			}
		}
		if s.Holds < 4 {
			t.Errorf("%d holds", s.Holds)
		}
		for range 2 { // at the same position nothing is evaluated again, at a later one only changes
			s.Looks, reads = 0, 0
			if !s.Step(p) || s.Looks > 2 {
				t.Errorf("%d looks where nothing or one channel has changed", s.Looks)
			}
			if threads, channels := count(s); threads != many+many/10 || s.Inbox && channels != many+1 {
				t.Errorf("%d channels and %d threads", channels, threads)
			}
			if reads > 1 {
				t.Errorf("%d records of the store are read", reads)
			}
			postIn("c00003", 1000, "")
		}
		p.onRead = nil
	}
}

// TestSweepAllocatesNothingUnderTheLock: a goroutine that allocates under a partition's lock may
// have to assist the garbage collector while the fold waits. So all memory is allocated before the
// lock is taken, however much there is to find.
func TestSweepAllocatesNothingUnderTheLock(t *testing.T) {
	fixture := newSweepFixture(t, 300, 30)
	for _, s := range []*Sweep{{Inbox: true, Panel: true}, {Panel: true}, {Inbox: true}} {
		s.UserID = "a"
		holds, bytes := 0, uint64(0)
		for done := false; !done; holds++ {
			s.Grow()
			bytes += allocated(func() { done = s.Step(fixture.p) })
			if holds == 2 { // changes must be evaluated again
				fixture.post("c00003", 100_000, "")
			}
		}
		if threads, channels := count(s); channels != 300 || s.Panel && threads != 300*30 {
			t.Errorf("%d channels and %d threads", channels, threads)
		}
		const others = 64 << 10 // allocations of the rest of the process
		if bytes > others || s.Panel && holds < 4 {
			t.Errorf("%d bytes are allocated under %d holds of the lock", bytes, holds)
		}
		s.Free()
	}
}
