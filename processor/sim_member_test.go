package processor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/checker"
	"github.com/tidemark/tidemark/projections"
)

// simMember is a process of a simulated run: its disks survive it, the rest does not.
type simMember struct {
	name      string
	disks     map[int32]*vfs.MemFS
	older     map[int32]*vfs.MemFS // disks as they were at an earlier opening
	alive     bool
	stalled   int // steps for which it does nothing
	committer *committer
	badCommit uint32 // how the next commit fails, 0: it does not
	workers   map[int32]*simWorker
}

// simWorker is a partition on a member.
type simWorker struct {
	*worker
	m       *simMember
	id      int64 // of its producer
	flight  []*kgo.Record
	cuts    []cut
	injured bool // a fault was injected that makes it fail
	wasLive bool
	// committed is what the group had when the worker was told to own its partition.
	committed projections.Position
	ended     bool
	given     bool // the group takes the partition back in order
	lost      bool // the group has given the partition away, and it does not know
}

// simMetrics are shared by all runs: making them takes longer than a short run.
var simMetrics = sync.OnceValue(func() *metrics { return newMetrics(Topics{Inputs: events.InputTopics}) })

// simCache is shared by all stores.
var simCache = sync.OnceValue(func() *pebble.Cache { return pebble.NewCache(64 << 20) })

func (w *simWorld) start(m *simMember) {
	m.alive, m.stalled, m.workers = true, 0, map[int32]*simWorker{}
	m.committer = &committer{
		topics: events.InputTopics, log: slog.New(slog.DiscardHandler), metrics: simMetrics(), now: w.clock,
		wake: make(chan struct{}, 1), pending: map[int32]projections.Position{}, floor: map[int32]projections.Position{},
		commit: func(_ context.Context, offsets map[string]map[int32]kgo.EpochOffset) error {
			how := m.badCommit
			m.badCommit = 0
			if how == 1 {
				return errSimCommit
			}
			w.found(w.broker.commit(m, offsets))
			if how == 2 {
				return errSimCommit
			}
			return nil
		},
	}
}

func (w *simWorld) identity(n int32) projections.Identity {
	return projections.Identity{ClusterID: "sim", Partition: n, Partitions: w.plan.partitions, Settings: w.settings}
}

// open opens the store of a partition and compares it with the log up to its position: whatever happened before (O1).
func (w *simWorld) open(m *simMember, n int32) *simWorker {
	if m.disks[n] == nil {
		m.disks[n] = vfs.NewCrashableMem()
	}
	part, err := projections.Open("store", w.identity(n), projections.Options{FS: m.disks[n], Cache: simCache(), MemTableSize: 256 << 10})
	if err != nil {
		w.found(simError("%s cannot open partition %d: %v", m.name, n, err))
		return nil
	}
	if w.random.IntN(3) == 0 {
		m.older[n] = m.disks[n].CrashClone(vfs.CrashCloneCfg{})
	}
	w.checkStore(part, "when "+m.name+" opens it")
	w.workersMade++
	s := &simWorker{m: m, id: w.workersMade}
	s.worker = &worker{
		number: n, count: w.plan.partitions, cfg: &w.cfg, out: simOut{w, s}, log: slog.New(slog.DiscardHandler),
		fold: projection{part}, metrics: &workerMetrics{metrics: simMetrics()},
	}
	s.room, s.storedAt = newRoom(), part.StoredPosition()
	s.inbox = newInbox(1<<20, new(atomic.Int64), func(events.Input, bool) {})
	m.workers[n] = s
	return s
}

func (w *simWorld) history(n int32) history {
	h := history{committed: w.broker.committed[n]}
	h.start, h.end = w.broker.bounds(n)
	return h
}

// own begins a partition on a member that the group has given it to. It reports whether that was possible.
func (w *simWorld) own(m *simMember, n int32) bool {
	h := w.history(n)
	s := m.workers[n]
	if s != nil { // a standby
		plan, err := planOpening(n, &events.InputTopics, s.fold.Position(), h)
		if err != nil {
			w.end(s)
			return false
		}
		m.committer.own(n, h.committed)
		s.committed = h.committed
		s.inbox.promote(order{plan: plan, ends: h.end})
		return true
	}
	if s = w.open(m, n); s == nil {
		return false
	}
	plan, err := planOpening(n, &events.InputTopics, s.fold.StoredPosition(), h)
	if err != nil { // the log was trimmed beyond this store: another member has a better one
		w.refusals++
		w.end(s)
		return false
	}
	m.committer.own(n, h.committed)
	if !plan.published {
		m.committer.note(n, s.storedAt)
	}
	s.committed = h.committed
	s.inbox.expect(plan.from)
	s.start(w.now, plan, h.end)
	w.sawLive(s)
	return true
}

// tail begins a standby.
func (w *simWorld) tail(m *simMember, n int32) {
	s := w.open(m, n)
	if s == nil {
		return
	}
	h, stored := w.history(n), s.fold.StoredPosition()
	plan, err := planOpening(n, &events.InputTopics, stored, h)
	ok := false
	if err == nil {
		plan, ok = planStandby(plan, stored, h)
	}
	if !ok {
		w.end(s)
		return
	}
	s.standing = true
	s.setState(StateStandby)
	s.inbox.expect(plan.from)
	s.start(w.now, plan, h.end)
}

// step makes a worker do what there is to do.
func (w *simWorld) step(s *simWorker, times int) {
	for range times {
		sleep, ended := s.safeStep()
		w.sawLive(s)
		if ended {
			w.ended(s)
			return
		}
		if sleep > 0 {
			return
		}
	}
}

// sawLive checks a partition that has just become live: it answers from here on, so it must have folded whatever the
// group had committed when it was opened (G9, G10).
func (w *simWorld) sawLive(s *simWorker) {
	if s.State() != StateLive || s.wasLive {
		return
	}
	s.wasLive = true
	if at := s.fold.Position(); !at.Dominates(s.committed) {
		w.found(simError("partition %d is live on %s at %v, and the group had committed %v (G10)", s.number, s.m.name, at, s.committed))
	}
}

// ended is called when a worker has come to its end by itself or as it was told.
func (w *simWorld) ended(s *simWorker) {
	if err := s.failure.Load(); err != nil && !s.injured {
		w.found(simError("partition %d fails on %s: %v", s.number, s.m.name, *err))
	}
	if s.given && s.failure.Load() == nil {
		_ = s.m.committer.flush(context.Background(), []int32{s.number})
	}
	w.end(s)
}

// end takes a worker off its member.
func (w *simWorld) end(s *simWorker) {
	s.ended = true
	s.m.committer.forget([]int32{s.number})
	if err := s.fold.Close(); err != nil {
		w.found(simError("partition %d: its store cannot be closed on %s: %v", s.number, s.m.name, err))
	}
	if len(s.flight) > 0 { // what was sent is on its way
		w.late = append(w.late, simLate{s.id, s.flight})
	}
	delete(s.m.workers, s.number)
	if w.broker.owner[s.number] == s.m && !s.standing {
		w.broker.owner[s.number] = nil
	}
}

// crash ends a process. What its stores hold then is what was synced, or all that was written, an older copy, or nothing.
func (w *simWorld) crash(m *simMember, how simKind, a uint32) {
	r := rand.New(rand.NewPCG(uint64(a), 5))
	for _, n := range sortedKeys(m.workers) {
		s := m.workers[n]
		s.ended = true
		if k := r.IntN(len(s.flight) + 1); k > 0 {
			w.broker.write(s.id, s.flight[:k])
		}
		synced := m.disks[n].CrashClone(vfs.CrashCloneCfg{})
		_ = s.fold.Close()
		switch {
		case how == simNoStore:
			m.disks[n] = nil
		case how == simOldStore && m.older[n] != nil:
			m.disks[n] = m.older[n].CrashClone(vfs.CrashCloneCfg{})
		case r.IntN(2) == 0 && !w.trimmed():
			m.disks[n] = synced
		}
		if w.broker.owner[n] == m {
			w.broker.owner[n] = nil
		}
	}
	m.alive, m.workers = false, nil
}

// simOut is what a worker does to the world.
type simOut struct {
	w *simWorld
	s *simWorker
}

func (o simOut) publish(_ *worker, records []*kgo.Record) {
	if st := o.s.State(); st == StateOpening && o.s.silent || st == StateStandby {
		o.w.found(simError("partition %d publishes %d records on %s while it is %s (DESIGN §6)", o.s.number, len(records), o.s.m.name, st))
	}
	if len(o.s.flight) > 0 {
		o.w.found(simError("partition %d has two sets in flight on %s", o.s.number, o.s.m.name))
	}
	o.s.flight = records
}

func (o simOut) apply(_ *worker, c cut) { o.s.cuts = append(o.s.cuts, c) }

func (o simOut) acknowledged(n int32, position projections.Position) {
	o.s.m.committer.note(n, position)
}

// simLate are records that a process has sent and nobody waits for any more.
type simLate struct {
	by      int64
	records []*kgo.Record
}

var (
	errSimDisk    = errors.New("simulated: the disk fails")
	errSimTrimmed = errors.New("simulated: the log begins later")
)

func simError(format string, args ...any) error { return fmt.Errorf(format, args...) }

func (w *simWorld) clock() time.Time { return w.now }

// checkStore compares a store with the log up to its position.
func (w *simWorld) checkStore(part *projections.Partition, when string) {
	n := part.Identity().Partition
	records := checker.Prefix(w.broker.records(n), part.Position())
	if f := checker.Store(checker.NewLog(w.settings, w.plan.partitions, records), part); f.Count > 0 {
		w.found(simError("%s, %s (O1)", f, when))
	}
}
