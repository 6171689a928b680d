package projections

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/pending"
	"github.com/tidemark/tidemark/projections/internal/rules"
)

// TestSweepIsPutAside: after the next Step, a list that was put aside equals a new one. If its
// version is unchanged, the list is unchanged too, and the threads are at their places.
func TestSweepIsPutAside(t *testing.T) {
	same, changed, others := 0, 0, 0
	for seed := range int64(120) {
		p := mustOpen(t, vfs.NewMem(), testIdentity())
		l := newLongLog(seed, 300, 240)
		if seed%2 == 0 { // times jump: waiting events lapse, and threads leave the list
			l = newRandomLog(seed)
		}
		rng := rand.New(rand.NewPCG(uint64(seed), 11))
		fold := func() {
			end, pos := l.end(), p.Position()
			l.foldTo(p, min(end[0], pos[0]+rng.Int64N(6)), min(end[1], pos[1]+rng.Int64N(6)), func() bool { return rng.IntN(2) == 0 })
		}
		lists, versions, found := map[string]*Sweep{}, map[string]uint64{}, map[string][]string{}
		for end := l.end(); p.Position() != end; fold() {
			user := logUsers[rng.IntN(len(logUsers))]
			s := lists[user]
			if s == nil {
				s = &Sweep{UserID: user, Inbox: true, Panel: true, PerHold: 1 + rng.IntN(3)}
			}
			for !s.Step(p) {
				if rng.IntN(3) == 0 {
					fold()
				}
			}
			got := swept(s)
			if want := sweptAnew(s, p); !slices.Equal(got, want) {
				t.Fatalf("seed %d at %v:\n%q\nand a new list:\n%q", seed, p.Position(), got, want)
			}
			switch before, is := found[user]; {
			case is && versions[user] != s.Version():
				changed++
			case is && !slices.Equal(got, before):
				t.Fatalf("seed %d at %v: version %d is\n%q\nand was\n%q", seed, p.Position(), s.Version(), got, before)
			case is:
				same++
			}
			views := p.BeginViews()
			refs := []ThreadRef{{}} // with one that names nothing
			s.EachThread(func(e *ThreadEntry) { refs = append(refs, e.Ref) })
			for some := range slices.Chunk(refs, ThreadsWarmed) {
				views.WarmThreads(some)
			}
			s.EachThread(func(e *ThreadEntry) {
				at := views.ThreadAt(user, string(e.ChannelID), string(e.ThreadID), e.Ref)
				searched, _ := views.Thread(user, string(e.ChannelID), string(e.ThreadID))
				if !reflect.DeepEqual(at, searched) || p.ThreadAtRef(user, string(e.ChannelID), string(e.ThreadID), e.Ref, nil) == nil {
					t.Errorf("seed %d: %s in %s is\n%+v where the list says and\n%+v by its ids", seed, e.ThreadID, e.ChannelID, at, searched)
				}
				if x := views.ThreadAt(user, string(e.ChannelID), "another", e.Ref); x.ThreadID != "another" || x.LastReply.Seq != 0 {
					t.Errorf("seed %d: what is not at a place is %+v", seed, x)
				}
				others++
			})
			views.Drop()
			versions[user], found[user] = s.Version(), got
			if delete(lists, user); s.Aside() > 0 {
				lists[user] = s
			} else {
				delete(found, user)
			}
			if rng.IntN(4) == 0 {
				mustCut(t, p)
			}
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if same < 100 || changed < 100 || others < 100 {
		t.Errorf("%d lists were the same and %d others, of %d threads: not the case that is meant", same, changed, others)
	}
}

// TestWarmingOfAnEmptyPartition: an empty partition ignores a place in the memory of another
// partition.
func TestWarmingOfAnEmptyPartition(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	views := p.BeginViews()
	defer views.Drop()
	views.WarmThreads([]ThreadRef{{}})
	if v := views.ThreadAt("ann", "general", "root", ThreadRef{}); v.LastReply.Seq != 0 {
		t.Errorf("an empty partition has the thread %+v", v)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

func sweptAnew(s *Sweep, p *Partition) []string {
	fresh := &Sweep{UserID: s.UserID, Inbox: s.Inbox, Panel: s.Panel}
	for !fresh.Step(p) {
	}
	defer fresh.Free()
	return swept(fresh)
}

// TestSweepOfAnotherStore: a list that was put aside keeps nothing of its partition. Another store
// of it is examined from the start, and the closed one can be freed.
func TestSweepOfAnotherStore(t *testing.T) {
	fixture, other := newSweepFixture(t, 3, 200), newSweepFixture(t, 2, 300)
	s := &Sweep{UserID: "a", Inbox: true, Panel: true}
	for !s.Step(fixture.p) {
	}
	version := s.Version()
	if s.Aside() == 0 || !s.IsAside() {
		t.Fatal("a list that stands is not put aside")
	}
	for !s.Step(other.p) {
	}
	if threads, channels := count(s); channels != 2 || threads != 600 || s.Version() == version {
		t.Errorf("%d channels and %d threads, version %d after %d", channels, threads, s.Version(), version)
	}
}

// TestSweepThatChangedALotIsFreed: outdated entries do not accumulate in a list.
func TestSweepThatChangedALotIsFreed(t *testing.T) {
	fixture := newSweepFixture(t, 3, 200)
	s := &Sweep{UserID: "a", Panel: true}
	asides := 0
	for n := range 10 {
		for !s.Step(fixture.p) {
		}
		if s.Aside() == 0 {
			break
		}
		asides++
		for c := range 3 {
			fixture.post([]string{"c00000", "c00001", "c00002"}[c], 1000+n, "")
		}
	}
	if asides == 0 || asides > 3 {
		t.Errorf("a list in which everything changes each time was put aside %d times", asides)
	}
}

// TestSweepPutAsideFits: a list that is put aside takes memory for its contents, not for the memory
// in which it was made, which may have been a large user's. Comparing it takes no more.
func TestSweepPutAsideFits(t *testing.T) {
	much, little := newSweepFixture(t, 1, 4_000), newSweepFixture(t, 3, 100)
	large := &Sweep{UserID: "a", Inbox: true, Panel: true}
	for !large.Step(much.p) {
	}
	large.Free() // the next one uses its memory
	s := &Sweep{UserID: "a", Inbox: true, Panel: true}
	for n := range 5 {
		for !s.Step(little.p) {
		}
		if threads, channels := count(s); threads != 300 || channels != 3 {
			t.Fatalf("%d threads and %d channels", threads, channels)
		}
		if bytes, most := s.Aside(), 64<<10; bytes == 0 || bytes > most {
			t.Errorf("after question %d the list of 300 threads takes %d bytes, want %d at most", n+1, bytes, most)
		}
	}
}

// TestVersionOfASweep: the version stays if the list stays, and changes with every change of the
// list, including removals and changes by time alone.
func TestVersionOfASweep(t *testing.T) {
	leave := func(id string) func(*sweepFixture) {
		return func(r *sweepFixture) {
			r.message(events.Message{Kind: events.KindMembersLeft, ChannelID: []byte(id), IDs: [][]byte{[]byte("a")}})
		}
	}
	elsewhere := func(r *sweepFixture) {
		r.message(events.Message{Kind: events.KindMembersJoined, ChannelID: []byte("other"), IDs: [][]byte{[]byte("b")}})
	}
	for _, of := range []struct {
		name   string
		change func(*sweepFixture)
		same   bool
	}{
		{"nothing", func(*sweepFixture) {}, true},
		{"another channel", elsewhere, true},
		{"the first is left", leave("c00000"), false},
		{"one in the middle is left", leave("c00001"), false},
		{"the last is left", leave("c00002"), false},
		{"a message", func(r *sweepFixture) { r.post("c00001", 1000, "") }, false},
		{"threads are not listed any more", func(r *sweepFixture) { r.now += rules.ThreadListedFor; elsewhere(r) }, false},
	} {
		fixture := newSweepFixture(t, 3, 200)
		s := &Sweep{UserID: "a", Inbox: true, Panel: true}
		for !s.Step(fixture.p) {
		}
		before, version := swept(s), s.Version()
		if s.Aside() == 0 {
			t.Fatal("a list that stands is not put aside")
		}
		of.change(fixture)
		for !s.Step(fixture.p) {
		}
		if same := s.Version() == version; same != of.same || same != slices.Equal(before, swept(s)) {
			t.Errorf("%s: version %d after %d, the lists are equal: %t", of.name, s.Version(), version, slices.Equal(before, swept(s)))
		}
	}
}

// TestSweepOfWhatLapses: a held event may lapse by log time alone, between two Steps. Then nothing
// of the channel or of the user in it is folded, and the stamps do not change. So each Step
// evaluates channels with such events again, and no others.
func TestSweepOfWhatLapses(t *testing.T) {
	for name, waits := range map[string]bool{"nothing is held": false, "a mark waits for its head": true} {
		fixture := newSweepFixture(t, 2, 0)
		fixture.post("c00000", 1, "")
		if waits {
			fixture.p.rules.FoldRead(&events.Read{Kind: events.KindMarkedUnread, ChannelID: []byte("c00000"), UserID: []byte("a"), OccurredAt: fixture.now,
				MessageID: []byte("m00001"), HeadMessageID: []byte("nobody")}, 0, fixture.now)
		}
		s := &Sweep{UserID: "a", Inbox: true, Panel: true}
		for !s.Step(fixture.p) {
		}
		fixture.now += 2 * pending.LapseAfter
		for n, want := range []bool{waits, false} { // the first one notices that it has lapsed
			fixture.message(events.Message{Kind: events.KindMembersJoined, ChannelID: fmt.Appendf(nil, "other%d", n), IDs: [][]byte{[]byte("b")}})
			s.Step(fixture.p)
			if (s.Looks > 0) != want {
				t.Errorf("%s: Step %d looked at %d", name, n, s.Looks)
			}
			if got, want := swept(s), lists(fixture.p, "a"); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}
