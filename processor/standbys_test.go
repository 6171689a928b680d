package processor

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// wire is a connection to the brokers that a test can cut. From then on the process behind it is
// dead to the brokers.
type wire struct {
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		conn.Close()
		return nil, net.ErrClosed
	}
	w.conns = append(w.conns, conn)
	return conn, nil
}

func (w *wire) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	for _, c := range w.conns {
		c.Close()
	}
}

// opens counts the stores that a member opens, and lets the test delay the openings.
type opens struct {
	count atomic.Int32
	gate  chan struct{} // nil: open at once
}

func (o *opens) open(dir string, id projections.Identity, opts projections.Options) (setup.Fold, error) {
	o.count.Add(1)
	if o.gate != nil {
		<-o.gate
	}
	return setup.Open(dir, id, opts)
}

// follows waits until a member tails that many partitions, all of them up to the committed offsets.
func (m *member) follows(s *site, partitions int) {
	m.t.Helper()
	until(m.t, "the standbys are where the group is", func() bool {
		list := m.Standbys()
		if len(list) != partitions {
			return false
		}
		committed := s.committed()
		for _, st := range list {
			if st.State != StateStandby || st.Position != committed[st.Partition] {
				return false
			}
		}
		return true
	})
}

// matchesReplay compares stores and outputs with the result of one member's replay.
func (s *site) matchesReplay(owners int, dirs ...string) {
	s.t.Helper()
	got := s.digests(s.config(""), dirs...)
	published := s.outputsOf(owners)
	want, replayed := s.replay()
	for p := range want {
		if got[p] != want[p] {
			s.t.Errorf("partition %d has digest %x, a replay %x", p, got[p], want[p])
		}
	}
	sameNewest(s.t, "published", published, replayed)
}

// TestStandbyTakesOver: the owner of half of the partitions crashes during its work. The other
// member continues from its own standbys without opening a store again, and nothing is missing.
func TestStandbyTakesOver(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		const n = 4
		s := newSite(t, env.Brokers, n)
		tr := newTraffic(s, rand.Uint64(), 20)
		tr.run(1000)
		var w wire
		ca, cb := s.config(t.TempDir()), s.config(t.TempDir())
		var stores opens
		ca.Standbys, cb.Standbys = 1, 1
		ca.ClientOptions = append(ca.ClientOptions, kgo.Dialer(w.dial))
		if !env.Real { // a real Kafka allows nothing below 6 s
			ca.ClientOptions = append(ca.ClientOptions, kgo.SessionTimeout(time.Second))
		}
		ca.StopTimeout = time.Second
		setup.HooksOf(&cb).OpenStore = stores.open
		cb.ShutdownTimeout = 30 * time.Second // enough to finish in an orderly way on a busy machine
		a, b := s.start(ca), s.start(cb)
		a.ready(n / 2)
		b.ready(n / 2)
		s.caughtUp(a, b)
		a.follows(s, n/2)
		b.follows(s, n/2)
		opened := stores.count.Load()
		tr.run(1000)
		w.kill()
		tr.run(1000)
		b.ready(n)
		s.caughtUp(b)
		if again := stores.count.Load() - opened; again != 0 {
			t.Errorf("%d stores were opened to take over", again)
		}
		a.stop()
		b.stop()
		s.matchesReplay(2, cb.DataDir)
	})
}

// TestStandbyFailsWhileItBecomesTheOwner: no other member opens its partition, so this member must.
func TestStandbyFailsWhileItBecomesTheOwner(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
	tr := newTraffic(s, rand.Uint64(), 20)
	tr.run(200)
	ca, cb := s.config(t.TempDir()), s.config(t.TempDir())
	ca.Standbys, cb.Standbys = 1, 1
	ca.NearRecords, cb.NearRecords = 1, 1 // so that nothing moves while its owner works
	a := s.start(ca).ready(1)
	s.caughtUp(a)
	var b *member
	var failed atomic.Bool
	setup.HooksOf(&cb).RetryAfter = func(int) time.Duration { return time.Millisecond }
	setup.HooksOf(&cb).Planted = func(where string) {
		if where != "offsets" {
			return
		}
		if w := b.worker(0); w != nil && w.Tails.Load() && failed.CompareAndSwap(false, true) {
			w.Inbox.Fail(failure.Passing(errors.New("planted")))
			<-w.Done
		}
	}
	built := make(chan struct{})
	setup.HooksOf(&cb).OpenStore = func(dir string, id projections.Identity, o projections.Options) (setup.Fold, error) {
		<-built
		return setup.Open(dir, id, o)
	}
	b = s.start(cb)
	close(built)
	b.follows(s, 1)
	a.stop()
	b.ready(1)
	if !failed.Load() { // it may stop tailing before it gets the offsets
		t.Log("the standby ended before it was the owner, which others test")
	}
	tr.run(200)
	s.caughtUp(b)
	b.stop()
	s.matchesReplay(2, cb.DataDir)
}

// TestStandbyDoesNotWaitForOthers: a tailed partition goes live although another partition of the
// same assignment takes long to open.
func TestStandbyDoesNotWaitForOthers(t *testing.T) {
	const n = 2
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), n)
	tr := newTraffic(s, rand.Uint64(), 20)
	tr.run(1000)
	var w wire
	ca, cb := s.config(t.TempDir()), s.config(t.TempDir())
	ca.Standbys, cb.Standbys = 1, 1
	ca.StopTimeout = time.Second
	ca.NearRecords, cb.NearRecords = 1, 1 // so that nothing moves while its owner works
	ca.ClientOptions = append(ca.ClientOptions, kgo.Dialer(w.dial), kgo.SessionTimeout(time.Second))
	a := s.start(ca).ready(n)
	s.caughtUp(a)
	const slow = 1 // the partition that will move and opens slowly; the other has a standby
	gate := make(chan struct{})
	setup.HooksOf(&cb).OpenStore = func(dir string, id projections.Identity, o projections.Options) (setup.Fold, error) {
		if id.Partition == slow {
			<-gate
		}
		return setup.Open(dir, id, o)
	}
	b := s.start(cb)
	until(t, "the other partition is tailed", func() bool {
		committed := s.committed()
		for _, st := range b.Standbys() {
			if st.Partition != slow && st.Position == committed[st.Partition] {
				return true
			}
		}
		return false
	})
	w.kill()
	until(t, "the one that was tailed is live", func() bool { _, err := b.Live(1 - slow); return err == nil })
	if _, err := b.Live(slow); err == nil {
		t.Error("the one that cannot be opened is live as well")
	}
	close(gate)
	b.ready(n)
	tr.run(500)
	s.caughtUp(b)
	a.stop()
	b.stop()
	s.matchesReplay(2, cb.DataDir)
}

// TestPlannedMoveWaitsUntilTheNewOwnerIsNear: a partition that will move is served by its owner
// until the new one, which has to fold it from the start, is near.
func TestPlannedMoveWaitsUntilTheNewOwnerIsNear(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		const n = 4
		s := newSite(t, env.Brokers, n)
		tr := newTraffic(s, rand.Uint64(), 20)
		tr.run(3000)
		ca, cb := s.config(t.TempDir()), s.config(t.TempDir())
		ca.NearRecords, cb.NearRecords = 20, 20
		stores := opens{gate: make(chan struct{})}
		setup.HooksOf(&cb).OpenStore = stores.open
		a := s.start(ca).ready(n)
		s.caughtUp(a)
		b := s.start(cb)
		until(t, "the new member warms up its share", func() bool { return stores.count.Load() == n/2 })
		a.ready(n)
		if len(b.Status()) != 0 {
			t.Errorf("the new member owns %v before it is near", b.Status())
		}
		tr.run(100)
		s.caughtUp(a)
		close(stores.gate)
		b.ready(n / 2)
		a.ready(n / 2)
		if opened := stores.count.Load(); opened != n/2 {
			t.Errorf("%d stores were opened, want one for each partition that moved", opened)
		}
		tr.run(100)
		s.caughtUp(a, b)
		a.stop()
		b.ready(n)
		s.caughtUp(b)
		b.stop()
		s.matchesReplay(1, ca.DataDir, cb.DataDir)
	})
}

// TestMembersComeAndGoWithStandbys: members of a group of up to three come, stop and crash under
// traffic, in a random order, and the final state has the digests and the newest values of a
// replay.
func TestMembersComeAndGoWithStandbys(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	const n = 6
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), n)
	tr := newTraffic(s, seed, 40)
	r := rand.New(rand.NewPCG(seed, 2))
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	members, wires := map[int]*member{}, map[int]*wire{}
	begin := func(i int) {
		wires[i] = new(wire)
		c := s.config(dirs[i])
		c.Standbys, c.NearRecords, c.StandbyEvery, c.StopTimeout = 1, 50, 20*time.Millisecond, 500*time.Millisecond
		c.ClientOptions = append(c.ClientOptions, kgo.Dialer(wires[i].dial), kgo.SessionTimeout(time.Second))
		members[i] = s.start(c)
	}
	begin(0)
	deaths := 0
	for range 6 {
		tr.run(300)
		if i := r.IntN(len(dirs)); members[i] == nil {
			begin(i)
		} else if len(members) > 1 {
			gone := members[i]
			delete(members, i)
			if r.IntN(2) == 0 {
				deaths++
				wires[i].kill()
				tr.run(300)
			}
			gone.stop()
		}
		tr.run(300)
		until(t, "everything is live again", func() bool {
			live := 0
			for _, m := range members {
				for _, st := range m.Status() {
					if st.State == StateLive {
						live++
					}
				}
			}
			return live == n
		})
	}
	t.Logf("%d of them died", deaths)
	for _, i := range slices.Sorted(maps.Keys(members)) {
		members[i].stop()
	}
	last := s.start(s.config(dirs[0])).ready(n) // with its full time to stop
	s.caughtUp(last)
	last.stop()
	s.matchesReplay(2, dirs...)
}
