package projections

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sys/unix"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/views"
)

// BenchmarkUnderLock measures how long queries hold a partition's lock in large channels: the CPU
// time of the thread, which does not depend on other processes, and the longest hold. It also
// reports the work after the lock.
func BenchmarkUnderLock(b *testing.B) {
	b.Run("crowd", func(b *testing.B) {
		s := newLargeStore(b)
		const members, messages = 100_000, 1_000
		s.join("crowd", members)
		for n := range messages {
			s.post("crowd", n, "author", events.Message{})
		}
		rng := rand.New(rand.NewPCG(5, 5))
		for u := range members {
			s.read("crowd", u, 1+rng.Uint32N(messages))
		}
		for _, uncut := range []bool{true, false} {
			name := ""
			if uncut {
				name = ", before the cut"
			} else {
				s.cut()
			}
			for _, at := range []struct {
				name string
				n    int
			}{{"newest", messages - 1}, {"middle", messages / 2}, {"oldest", 0}} {
				s.receipts(b, fmt.Sprintf("%s, page 50%s", at.name, name), "crowd", at.n, 50)
				s.receipts(b, fmt.Sprintf("%s, page 1000%s", at.name, name), "crowd", at.n, 1000)
			}
			s.time(b, "readers, page 1000"+name, func() func() {
				w, ok := s.p.BeginReaders("crowd", 0, NewReadersMemory(1000))
				if !ok {
					b.Fatal("no such channel")
				}
				return func() {
					if _, err := w.End(context.Background()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
	b.Run("long", func(b *testing.B) {
		s := newLargeStore(b)
		const members, messages = 50, 200_000
		s.join("long", members)
		for n := range messages {
			m := events.Message{}
			switch n % 10 {
			case 3:
				m.Silent = true
			case 5:
				m.ThreadID = fmt.Appendf(nil, "m%07d", n/100*100)
			case 7:
				m.ThreadID = []byte("m0000000")
			}
			s.post("long", n, fmt.Sprintf("user-%06d", n%(members-1)), m)
			if n%20 == 19 {
				for u := range members - 1 {
					s.read("long", u, uint32(n-u%20))
				}
			}
			if n%20_000 == 19_999 {
				s.cut()
			}
		}
		s.cut()
		last := s.user(members - 1)
		s.receipts(b, "newest", "long", messages-1, 50)
		s.receipts(b, "middle", "long", messages/2, 50)
		s.receipts(b, "oldest", "long", 0, 50)
		s.receipts(b, "reply, oldest", "long", 7, 50)
		s.time(b, "explain", func() func() {
			w, ok := s.p.BeginExplain(last, "long")
			return s.explain(b, "explain", w, ok)
		})
		s.time(b, "view", all(func() { s.p.View(last, "long") }))
		s.p.rules.FoldRead(&events.Read{Kind: events.KindThreadFollowed, ChannelID: []byte("long"), UserID: []byte(last), ThreadID: []byte("m0000000"), OccurredAt: 1}, s.r, 1)
		s.r++
		s.time(b, "explain thread", func() func() {
			w, ok := s.p.BeginExplainThread(last, "long", "m0000000")
			return s.explain(b, "explain thread", w, ok)
		})
		s.time(b, "thread", all(func() { s.p.Thread(last, "long", "m0000000") }))
	})
	b.Run("inbox", func(b *testing.B) {
		s := newLargeStore(b)
		const channels = 25_000
		for i := range channels {
			id := fmt.Sprintf("channel-%06d", i)
			s.join(id, 2)
			s.post(id, 0, s.user(1), events.Message{})
			for n := range 20 {
				s.post(id, n+1, s.user(1), events.Message{ThreadID: []byte("m0000000"), IDs: [][]byte{[]byte(s.user(0))}})
			}
		}
		s.cut()
		for _, x := range []struct {
			name string
			Sweep
		}{
			{"inbox, 100,000 channels of 4 partitions, the newest 20 messages are replies, 25,000 threads", Sweep{Inbox: true, Panel: true}},
			{"panel, the same threads", Sweep{Panel: true}},
		} {
			for _, page := range []int{50, 1000} {
				s.sweep(b, fmt.Sprintf("%s, page of %d", x.name, page), s.user(0), x.Sweep, page)
			}
		}
		few := newLargeStore(b)
		for i := range 100 {
			id := fmt.Sprintf("channel-%06d", i)
			few.join(id, 2)
			for n := range 100 {
				few.post(id, 2*n, few.user(1), events.Message{})
				few.post(id, 2*n+1, few.user(1), events.Message{ThreadID: fmt.Appendf(nil, "m%07d", 2*n), IDs: [][]byte{[]byte(few.user(0))}})
			}
		}
		few.cut()
		few.sweep(b, "panel, 10,000 threads of 100 channels, page of 50", few.user(0), Sweep{Panel: true}, 50)
		few.sweep(b, "panel, the same, page of 1000", few.user(0), Sweep{Panel: true}, 1000)
		s.time(b, "stats", all(func() { s.p.Stats() }))
	})
}

// largeStore is a partition on disk that is filled without publishing.
type largeStore struct {
	b    *testing.B
	p    *Partition
	m, r int64
	now  int64
}

func newLargeStore(b *testing.B) *largeStore {
	b.Helper()
	cache := pebble.NewCache(256 << 20)
	b.Cleanup(cache.Unref)
	p, err := Open(b.TempDir(), testIdentity(), Options{Cache: cache})
	if err != nil {
		b.Fatal(err)
	}
	p.rules.Quiet(true)
	b.Cleanup(func() {
		if err := p.Close(); err != nil {
			b.Error(err)
		}
	})
	return &largeStore{b: b, p: p, now: 1_790_000_000_000}
}

func (s *largeStore) user(n int) string { return fmt.Sprintf("user-%06d", n) }

func (s *largeStore) message(channel string, m events.Message) {
	s.now += 17
	m.ChannelID, m.OccurredAt = []byte(channel), s.now
	s.p.rules.FoldMessage(&m, s.m, s.now)
	s.m++
}

func (s *largeStore) join(channel string, members int) {
	for from := 0; from < members; from += 1000 {
		var ids [][]byte
		for u := from; u < min(from+1000, members); u++ {
			ids = append(ids, []byte(s.user(u)))
		}
		s.message(channel, events.Message{Kind: events.KindMembersJoined, IDs: ids})
	}
}

func (s *largeStore) post(channel string, n int, sender string, m events.Message) {
	m.Kind, m.MessageID, m.SenderID, m.Preview = events.KindMessagePosted, fmt.Appendf(nil, "m%07d", n), []byte(sender), []byte("what is said in a message of usual length, more or less")
	s.message(channel, m)
}

func (s *largeStore) read(channel string, user int, seq uint32) {
	s.now += 3
	s.p.rules.FoldRead(&events.Read{Kind: events.KindReadUpTo, ChannelID: []byte(channel), UserID: []byte(s.user(user)), OccurredAt: s.now,
		Target: events.TargetSeq, Seq: seq}, s.r, s.now)
	s.r++
}

func (s *largeStore) cut() {
	s.b.Helper()
	mustCut(s.b, s.p)
}

// time measures begin, which runs under the lock, and the function that begin returns, which does
// not.
func (s *largeStore) time(b *testing.B, name string, begin func() (end func())) {
	b.Run(name, func(b *testing.B) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var locked, longest, after time.Duration
		for b.Loop() {
			began := threadTime(b)
			end := begin()
			underLock := threadTime(b)
			if end != nil {
				end()
			}
			locked, longest, after = locked+underLock-began, max(longest, underLock-began), after+threadTime(b)-underLock
		}
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(ms(locked)/float64(b.N), "ms-locked")
		b.ReportMetric(ms(longest), "ms-longest")
		b.ReportMetric(ms(after)/float64(b.N), "ms-after")
	})
}

// threadTime returns the CPU time that the thread has used.
func threadTime(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}

// sweep measures each hold of a sweep that ends with the views of a page, and the longest of them.
func (s *largeStore) sweep(b *testing.B, name, user string, of Sweep, page int) {
	b.Run(name, func(b *testing.B) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var longest, last, total time.Duration
		holds := 0
		for b.Loop() {
			list := of
			list.UserID = user
			began := threadTime(b)
			var views *Views
			var memory ViewMemory
			for done := false; !done; holds++ {
				if list.Grow(); holds > 0 {
					memory.Reserve(page, page)
				}
				from := threadTime(b)
				if done = list.Step(s.p); done {
					views = s.p.BeginViewsIn(&memory)
					n, m := 0, 0
					list.EachChannel(func(e *InboxEntry) {
						if n++; list.Inbox && n <= page {
							views.View(user, string(e.ChannelID))
						}
					})
					list.EachThread(func(e *ThreadEntry) {
						if m++; m <= page {
							views.Thread(user, string(e.ChannelID), string(e.ThreadID))
						}
					})
				}
				locked := threadTime(b) - from
				longest = max(longest, locked)
				if done {
					last += locked
				}
			}
			if err := views.End(context.Background()); err != nil || len(views.Wanted) == 0 {
				b.Fatal(len(views.Wanted), err)
			}
			list.Free()
			total += threadTime(b) - began
		}
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(holds)/float64(b.N), "holds")
		b.ReportMetric(ms(longest), "ms-longest")
		b.ReportMetric(ms(last)/float64(b.N), "ms-last-hold")
		b.ReportMetric(ms(total)/float64(b.N), "ms-in-all")
	})
}

func (s *largeStore) receipts(b *testing.B, name, channel string, message, page int) {
	s.time(b, "receipts, "+name, func() func() {
		w, ok := s.p.BeginReceipts(channel, fmt.Sprintf("m%07d", message), 0, NewReceiptsMemory(page))
		if !ok {
			b.Fatal("no such message")
		}
		return func() {
			if v, err := w.End(context.Background()); err != nil || v.Recipients == 0 || len(v.List) == 0 {
				b.Fatalf("%+v, %v", v, err)
			}
		}
	})
}

func (s *largeStore) explain(b *testing.B, name string, w *ExplainWalk, ok bool) func() {
	if !ok {
		b.Fatalf("%s: no such channel", name)
	}
	return func() {
		if x, err := w.End(context.Background()); err != nil || x.Unread < views.MaxExplained {
			b.Fatalf("%d unread, %v", x.Unread, err)
		}
	}
}

// all returns a begin for queries that are answered entirely under the lock.
func all(answer func()) func() func() {
	return func() func() {
		answer()
		return nil
	}
}
