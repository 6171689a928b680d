package processor

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// diary lists the events in order.
type diary struct {
	mu      sync.Mutex
	entries []string
}

func (d *diary) note(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, what)
}

// last returns the last index of an entry, -1 if there is none.
func (d *diary) last(what string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.entries) - 1 - slices.Index(append(reversed(d.entries), what), what)
}

func reversed(list []string) []string {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

// diaryFold records the operations on a store.
type diaryFold struct {
	setup.Fold
	d *diary
}

func (f diaryFold) TakeCut() (setup.Cut, error) {
	c, err := f.Fold.TakeCut()
	return diaryCut{c, f.d}, err
}

func (f diaryFold) Close() error {
	f.d.note("close")
	return f.Fold.Close()
}

type diaryCut struct {
	setup.Cut
	d *diary
}

func (c diaryCut) Apply() error {
	c.d.note("store")
	return c.Cut.Apply()
}

// outputTopics returns the names and ids of the topics that deltas go to.
func (s *site) outputTopics() map[string]bool {
	s.t.Helper()
	names := s.names()
	topics, err := testkit.Admin(s.t, s.brokers).ListTopics(context.Background(), names.Unread, names.Channels)
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string]bool{names.Unread: true, names.Channels: true}
	for _, topic := range topics {
		all[string(topic.ID[:])] = true
	}
	return all
}

// TestGracefulStopInOrder: a stop publishes, stores, closes, commits and leaves, in this order. The
// committed offsets are those of the store, so the next owner has nothing to fold again.
func TestGracefulStopInOrder(t *testing.T) {
	k := testkit.FakeKafka(t)
	s := newSite(t, k.ListenAddrs(), 1)
	c := s.config(t.TempDir())
	c.CutEvery, c.CommitEvery = time.Hour, time.Hour // so that the stop has something to store and commit
	var d diary
	setup.HooksOf(&c).OpenStore = func(dir string, id projections.Identity, o projections.Options) (setup.Fold, error) {
		f, err := setup.Open(dir, id, o)
		return diaryFold{f, &d}, err
	}
	m := s.start(c).ready(1)
	newTraffic(s, rand.Uint64(), 20).run(2000)
	s.caughtUp(m)
	outputs := s.outputTopics()
	publishing, answer := make(chan struct{}), make(chan struct{})
	var once sync.Once
	k.Control(func(r kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		switch r := r.(type) {
		case *kmsg.ProduceRequest:
			if slices.ContainsFunc(r.Topics, func(t kmsg.ProduceRequestTopic) bool { return outputs[t.Topic] || outputs[string(t.TopicID[:])] }) {
				once.Do(func() { close(publishing) })
				k.SleepControl(func() { <-answer })
				d.note("publish")
			}
		case *kmsg.OffsetCommitRequest:
			d.note("commit")
		case *kmsg.LeaveGroupRequest:
			d.note("leave")
		}
		return nil, nil, false
	})
	// The stop comes while a set is on its way.
	s.join("general", "alice", "bob")
	<-publishing
	stopped := make(chan struct{})
	go func() { defer close(stopped); m.stop() }()
	until(t, "it stops", func() bool { st := m.Status(); return len(st) == 1 && st[0].State == StateStopping })
	close(answer)
	<-stopped
	order := []int{d.last("publish"), d.last("store"), d.last("close"), d.last("commit"), d.last("leave")}
	if slices.Min(order) < 0 || !slices.IsSorted(order) {
		t.Errorf("it stopped in this order: %q", d.entries)
	}
	p := &engine.Engine{Config: setup.Checked{Config: c}, Admin: testkit.Admin(t, s.brokers)}
	id, err := p.LookUp(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.Cluster.Store(id)
	store, err := projections.Open(StoreDir(c.DataDir, 0), p.IdentityOf(0), projections.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if at := s.committed()[0]; store.StoredPosition() != at {
		t.Errorf("the store is at %v, committed is %v", store.StoredPosition(), at)
	}
}

// TestSlowOpeningKeepsItsSession (B8): stores take longer to open than the session and many
// heartbeats, while other members come and go. The member stays in its group all the time, and is
// ready once its stores are open.
func TestSlowOpeningKeepsItsSession(t *testing.T) {
	const n = 4
	k := testkit.FakeKafka(t)
	s := newSite(t, k.ListenAddrs(), n)
	tr := newTraffic(s, rand.Uint64(), 20)
	tr.run(500)
	var beats atomic.Int64
	k.ControlKey(int16(kmsg.Heartbeat), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		beats.Add(1)
		return nil, nil, false
	})
	ca, cb := s.config(t.TempDir()), s.config(t.TempDir())
	stores := opens{gate: make(chan struct{})}
	setup.HooksOf(&ca).OpenStore = stores.open
	ca.ClientOptions = append(ca.ClientOptions, kgo.SessionTimeout(3*time.Second), kgo.HeartbeatInterval(50*time.Millisecond))
	ca.Standbys, cb.Standbys = 1, 1
	a := s.start(ca)
	until(t, "the stores are being opened", func() bool { return stores.count.Load() == n })
	for range 2 {
		b := s.start(cb).ready(n / 2)
		alone := beats.Load()
		until(t, "heartbeats of more than a session", func() bool { return beats.Load() > alone+120 })
		b.stop()
	}
	if moved := a.moved(); moved["lost"] != 0 {
		t.Errorf("it lost %d partitions, and with them its place in the group", moved["lost"])
	}
	close(stores.gate)
	a.ready(n)
	s.caughtUp(a)
	a.stop()
	s.matchesReplay(1, ca.DataDir)
}
