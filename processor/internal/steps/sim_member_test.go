package steps

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/home"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/metrics"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/outputs"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// simMember is a process of a simulated run: its disks survive it, the rest does not.
type simMember struct {
	name      string
	disks     map[int32]*vfs.MemFS
	older     map[int32]*vfs.MemFS // disks as they were at an earlier opening
	alive     bool
	stalled   int // steps for which it does nothing
	committer *outputs.Committer
	producer  int64  // its id
	badCommit uint32 // how the next commit fails; 0: it does not
	workers   map[int32]*simWorker
}

// simWorker is a partition on a member.
type simWorker struct {
	*Worker
	m       *simMember
	id      int64         // of its producer
	flight  []*kgo.Record // its set: what out refers to
	out     outputs.Outgoing
	sentBy  int64 // the producer that has sent its set; 0: none has
	cuts    []setup.Cut
	injured bool // an injected fault will make it fail
	wasLive bool
	// committed is the group's position when the worker became the owner of its partition.
	committed projections.Position
	ended     bool
	given     bool // the group takes the partition back in an orderly way
	lost      bool // the group has given the partition away, and the member has not noticed
}

// simMetrics are shared by all runs, because creating them takes longer than a short run.
var simMetrics = sync.OnceValue(func() *metrics.Set { return metrics.New(setup.Topics{Inputs: events.InputTopics}) })

// simCache is shared by all stores.
var simCache = sync.OnceValue(func() *pebble.Cache { return pebble.NewCache(64 << 20) })

func (w *simWorld) start(m *simMember) {
	m.alive, m.stalled, m.workers = true, 0, map[int32]*simWorker{}
	m.committer = outputs.NewCommitter(outputs.Commits{
		Topics: events.InputTopics, Log: slog.New(slog.DiscardHandler), Took: func(time.Duration) {}, Now: w.clock,
		Roster: outputs.NewRoster(),
		Commit: func(_ context.Context, offsets map[string]map[int32]kgo.EpochOffset, texts map[int32]string) error {
			how := m.badCommit
			m.badCommit = 0
			if how == 1 {
				return errSimCommit
			}
			found, refused := w.broker.commit(m, offsets, texts)
			w.found(found)
			if how == 2 {
				return errSimCommit
			}
			return refused
		},
	})
	w.renew(m)
}

// renew gives a member another producer. The records of the earlier producer may still arrive, and
// are sent again.
func (w *simWorld) renew(m *simMember) {
	w.producers++
	m.producer = w.producers
	m.committer.Roster.Become(m.producer)
	for _, n := range slices.Sorted(maps.Keys(m.workers)) {
		w.astray(m.workers[n])
	}
}

// astray leaves a worker's sent records in transit.
func (w *simWorld) astray(s *simWorker) {
	if s.sentBy != 0 {
		w.late = append(w.late, simLate{s.id, s.sentBy, s.flight})
	}
	s.sentBy = 0
}

// send processes a set until it leaves (Publisher.admit). It reports whether it has left.
func (w *simWorld) send(s *simWorker) bool {
	r := s.m.committer.Roster
	if _, _, wait, owned := r.Entry(s.Number); owned && wait != nil {
		_ = s.m.committer.Send(context.Background(), nil) // as the committer's loop does
	}
	self, former, wait, owned := r.Entry(s.Number)
	if s.sentBy != 0 || !owned || wait != nil {
		return s.sentBy != 0
	}
	if former {
		missing := r.Missing(s.Number, &s.out, events.TopicUnread, events.TopicChannels)
		w.broker.raise(missing)
		r.Raised(missing, events.TopicUnread, events.TopicChannels, w.plan.partitions)
	}
	s.sentBy = self
	return true
}

func (w *simWorld) identity(n int32) projections.Identity {
	return projections.Identity{ClusterID: "sim", Partition: n, Partitions: w.plan.partitions, Settings: w.settings}
}

// memory is for a few channels in half of the runs.
func (w *simWorld) memory() int64 { return int64(w.plan.seed / 2 % 2) }

// memTable is so small in a quarter of the runs that many cuts become tables.
func (w *simWorld) memTable() uint64 {
	if w.plan.seed/4%4 == 0 {
		return 2 << 10
	}
	return 256 << 10
}

// open opens the store of a partition and compares it with the log up to its position, after any
// faults (O1).
func (w *simWorld) open(m *simMember, n int32) *simWorker {
	if m.disks[n] == nil {
		m.disks[n] = vfs.NewCrashableMem()
	}
	part, err := projections.Open("store", w.identity(n), projections.Options{FS: m.disks[n], Cache: simCache(), MemTableSize: w.memTable(), Memory: w.memory, ListLater: true})
	if err != nil {
		w.found(simError("%s cannot open partition %d: %v", m.name, n, err))
		return nil
	}
	if w.random.IntN(3) == 0 {
		m.older[n] = m.disks[n].CrashClone(vfs.CrashCloneCfg{})
	}
	if w.workersMade++; part.Listed() || w.workersMade%3 == 0 { // the others are listed while they fold
		w.checkStore(part, "when "+m.name+" opens it")
	}
	s := &simWorker{m: m, id: w.workersMade}
	s.Worker = &Worker{
		Number: n, count: w.plan.partitions, cfg: &w.cfg, out: simOut{w, s}, log: slog.New(slog.DiscardHandler),
		Fold: setup.FoldOf(part), metrics: &metrics.Worker{Set: simMetrics()},
	}
	s.Life.Taken = w.cfg.Taken
	s.StoredAt = part.StoredPosition()
	s.Inbox = inbox.New(0, 1<<20, new(atomic.Int64), func(events.Input, bool) {})
	s.Home = home.New(context.Background(), &engine.Engine{Config: w.cfg, Log: s.log}, s.Inbox, nil)
	m.workers[n] = s
	return s
}

func (w *simWorld) history(n int32) opening.History {
	h := opening.History{Committed: w.broker.committed[n]}
	h.Start, h.End = w.broker.bounds(n)
	return h
}

// own begins a partition on a member to which the group has assigned it. It reports whether the
// member could open it.
func (w *simWorld) own(m *simMember, n int32) bool {
	h := w.history(n)
	s := m.workers[n]
	if s != nil { // a standby
		plan, err := opening.Decide(n, &events.InputTopics, s.Fold.Position(), h)
		if err != nil {
			w.end(s)
			return false
		}
		m.committer.Roster.Take(n, w.broker.texts[n])
		m.committer.Own(n, h.Written())
		s.committed = h.Committed
		s.Inbox.Promote(opening.Order{Plan: plan, Ends: h.End})
		return true
	}
	if s = w.open(m, n); s == nil {
		return false
	}
	plan, err := opening.Decide(n, &events.InputTopics, s.Fold.StoredPosition(), h)
	if err != nil { // the log was trimmed beyond this store: another member has a better one
		w.refusals++
		w.end(s)
		return false
	}
	m.committer.Roster.Take(n, w.broker.texts[n])
	m.committer.Own(n, h.Written())
	if !plan.Published && !plan.Republish {
		m.committer.Note(n, s.StoredAt)
	}
	s.committed = h.Committed
	s.Inbox.Expect(plan.From)
	s.start(w.now, plan, h.End)
	w.sawLive(s)
	return true
}

// tail begins a standby.
func (w *simWorld) tail(m *simMember, n int32) {
	s := w.open(m, n)
	if s == nil {
		return
	}
	h, stored := w.history(n), s.Fold.StoredPosition()
	plan, err := opening.Decide(n, &events.InputTopics, stored, h)
	ok := false
	if err == nil {
		plan, ok = opening.DecideStandby(plan, stored, h)
	}
	if !ok {
		w.end(s)
		return
	}
	s.standby = true
	s.Inbox.Expect(plan.From)
	s.start(w.now, plan, h.End)
}

// step makes a worker do its pending work.
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

// sawLive checks a partition that has just become live. It answers queries from here on, so it must
// have folded everything that the group had committed when it was opened (G9, G10).
func (w *simWorld) sawLive(s *simWorker) {
	if s.Life.State() != life.Live || s.wasLive {
		return
	}
	s.wasLive = true
	if at := s.Fold.Position(); !at.Dominates(s.committed) {
		w.found(simError("partition %d is live on %s at %v, and the group had committed %v (G10)", s.Number, s.m.name, at, s.committed))
	}
}

// ended handles a worker that has ended, by itself or on demand.
func (w *simWorld) ended(s *simWorker) {
	if err := s.Failure.Load(); err != nil && !s.injured {
		w.found(simError("partition %d fails on %s: %v", s.Number, s.m.name, *err))
	}
	if len(s.flight) > 0 {
		s.m.committer.Roster.Spoil(s.Number) // as Worker does
	}
	if s.given && s.Failure.Load() == nil {
		_ = s.m.committer.Flush(context.Background(), []int32{s.Number})
	}
	w.end(s)
}

// end removes a worker from its member.
func (w *simWorld) end(s *simWorker) {
	s.ended = true
	s.m.committer.Forget([]int32{s.Number})
	if err := s.Fold.Close(); err != nil {
		w.found(simError("partition %d: its store cannot be closed on %s: %v", s.Number, s.m.name, err))
	}
	delete(s.m.workers, s.Number)
	if w.astray(s); len(s.flight) > 0 {
		w.renew(s.m)
	}
	if w.broker.owner[s.Number] == s.m && !s.standby {
		w.broker.owner[s.Number] = nil
	}
}

// crash ends a process. Its stores then have the synced data, all written data, an older copy, or
// nothing.
func (w *simWorld) crash(m *simMember, how simKind, a uint32) {
	r := rand.New(rand.NewPCG(uint64(a), 5))
	for _, n := range slices.Sorted(maps.Keys(m.workers)) {
		s := m.workers[n]
		s.ended = true
		if k := r.IntN(len(s.flight) + 1); s.sentBy != 0 {
			w.broker.write(s.id, s.sentBy, s.flight[:k])
			if r.IntN(2) == 0 { // the machine has lost the rest
				w.late = append(w.late, simLate{s.id, s.sentBy, s.flight[k:]})
			}
		}
		synced := m.disks[n].CrashClone(vfs.CrashCloneCfg{})
		_ = s.Fold.Close()
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

// simOut implements the side effects of a worker.
type simOut struct {
	w *simWorld
	s *simWorker
}

func (o simOut) Publish(_ *Worker, records outputs.Outgoing) {
	if st := o.s.Life.State(); st.Opens() && o.s.replaying || st == life.Standby {
		o.w.found(simError("partition %d publishes %d records on %s while it is %s (DESIGN §6)", o.s.Number, records.Len(), o.s.m.name, st))
	}
	if len(o.s.flight) > 0 {
		o.w.found(simError("partition %d has two sets in flight on %s", o.s.Number, o.s.m.name))
	}
	o.s.flight, o.s.out, o.s.sentBy = records.Records(), records, 0
}

func (o simOut) Apply(_ *Worker, c setup.Cut) { o.s.cuts = append(o.s.cuts, c) }

func (o simOut) Acknowledged(n int32, position projections.Position) {
	o.s.m.committer.Note(n, position)
}

func (o simOut) Committed(n int32) projections.Position { return o.s.m.committer.Committed(n) }

// simLate are records that a process has sent and no longer waits for.
type simLate struct {
	by, producer int64
	records      []*kgo.Record
}

var (
	errSimDisk    = errors.New("simulated: the disk fails")
	errSimTrimmed = errors.New("simulated: the log begins later")
)

func simError(format string, args ...any) error { return fmt.Errorf(format, args...) }

func (w *simWorld) clock() time.Time { return w.now }

// checkStore compares a store with the log up to its position.
func (w *simWorld) checkStore(part *projections.Partition, when string) {
	if _, err := part.List(1 << 30); err != nil {
		w.found(simError("listing the channels of partition %d, %s: %v", part.Identity().Partition, when, err))
		return
	}
	n := part.Identity().Partition
	records := checker.Prefix(w.broker.records(n), part.Position())
	if f := checker.Store(checker.NewLog(w.settings, w.plan.partitions, records), part); f.Count > 0 {
		w.found(simError("%s, %s (O1)", f, when))
	}
}
