package steps

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// simWorld is a simulated run. Workers are real, with their inboxes, merges, stores and committers,
// and so are the plans of their openings. Kafka, the group, the disks, the clock and the schedule
// are simulated. Nothing runs concurrently, so a run is a function of its plan.
type simWorld struct {
	plan     *simPlan
	cfg      setup.Checked
	settings projections.Settings
	now      time.Time
	ahead    time.Time  // when the clock was put back
	random   *rand.Rand // for choices that no step determines
	broker   *simBroker
	members  []*simMember
	late     []simLate
	reader   checker.Mirror
	readTo   int
	settling bool // all faults have ended

	workersMade int64
	producers   int64
	refusals    int // openings that were refused because the log was trimmed
	wrong       []string
}

// found records a finding; nil is no finding.
func (w *simWorld) found(err error) {
	if err != nil && len(w.wrong) < 3 {
		w.wrong = append(w.wrong, err.Error())
	}
}

func newSimWorld(p *simPlan) *simWorld {
	w := &simWorld{plan: p, now: time.UnixMilli(1_748_764_800_000), random: rand.New(rand.NewPCG(p.seed, 6))}
	w.settings = projections.DefaultSettings()
	w.settings.FanoutLimit, w.settings.SendMarksRead, w.settings.TrimLog = p.fanout, p.sendReads, p.seed%3 == 0
	if p.pace > 0 { // messages go after eight days, so within a run
		w.settings.IndexRetention = 24 * time.Hour.Milliseconds()
	}
	every := time.Second
	if p.rareCuts {
		every *= cutRarely
	}
	c := setup.Config{Brokers: []string{"sim"}, Group: "sim", DataDir: "sim", Settings: w.settings,
		BatchRecords: p.batch, CutEvery: every, Logger: slog.New(slog.DiscardHandler), Breaker: setup.Breaker{Off: true}}
	if p.seed%4 < 2 {
		c.JoinDelay = time.Nanosecond // partitions that are behind publish as often as others
	}
	h := setup.HooksOf(&c)
	h.Now, h.LockRecords, h.ListChannels = w.clock, p.lock, 1
	cfg, err := setup.Check(c)
	if err != nil {
		panic(err)
	}
	w.cfg = cfg
	w.broker = newSimBroker(p)
	for i := range p.members {
		m := &simMember{name: fmt.Sprintf("member%d", i+1), disks: map[int32]*vfs.MemFS{}, older: map[int32]*vfs.MemFS{}}
		w.start(m)
		w.members = append(w.members, m)
	}
	return w
}

// runSim runs a plan and returns its first finding, or "". It stops there.
func runSim(p *simPlan) (wrong string) {
	w := newSimWorld(p)
	defer w.close()
	for i, s := range p.steps {
		w.do(s)
		if len(w.wrong) > 0 {
			return fmt.Sprintf("after step %d (%v): %s", i+1, s, strings.Join(w.wrong, "\n"))
		}
	}
	w.settle()
	if len(w.wrong) == 0 {
		w.check()
	}
	return strings.Join(w.wrong, "\n")
}

func (w *simWorld) close() {
	for _, m := range w.members {
		for _, s := range m.workers {
			_ = s.Fold.Close()
		}
	}
}

// workers returns the workers of all processes that run and are not stalled, in a fixed order.
func (w *simWorld) workers() (out []*simWorker) {
	for _, m := range w.members {
		if m.stalled > 0 {
			continue
		}
		for _, n := range slices.Sorted(maps.Keys(m.workers)) {
			out = append(out, m.workers[n])
		}
	}
	return out
}

// pick returns one of the items for which ok returns true, or nil if there is none.
func pick[T any](list []*T, a uint32, ok func(*T) bool) *T {
	var out []*T
	for _, s := range list {
		if ok(s) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out[int(a)%len(out)]
}

func any1[T any](*T) bool { return true }

func alive(m *simMember) bool { return m.alive }

// do makes one step of the plan.
func (w *simWorld) do(s simStep) {
	for _, m := range w.members {
		m.stalled = max(0, m.stalled-1)
	}
	if s.kind > simNormal {
		w.fault(s)
		return
	}
	switch s.kind {
	case simProduce:
		w.broker.events.Reseed(uint64(s.a))
		n := 1 + int(s.b%6)
		if w.plan.bursts && s.b%8 == 0 {
			n = 270
		}
		w.broker.events.Write(n)
		if staff := w.broker.events.Staff(); s.b%41 == 1 && len(staff) > 0 {
			w.broker.events.Erase(staff[int(s.a/7)%len(staff)])
		}
	case simFetch:
		if x := pick(w.workers(), s.a, any1); x != nil {
			n := 1 + int(s.b/8%12)
			if w.plan.bursts {
				n *= 40
			}
			w.fetch(x, events.Input(s.b%events.NumInputs), 0, n)
		}
	case simFold:
		if x := pick(w.workers(), s.a, any1); x != nil {
			w.step(x, 1+int(s.b%4))
		}
	case simAck:
		if x := pick(w.workers(), s.a, func(x *simWorker) bool { return len(x.flight) > 0 }); x != nil {
			w.ack(x)
		}
	case simApply:
		if x := pick(w.workers(), s.a, func(x *simWorker) bool { return len(x.cuts) > 0 }); x != nil {
			w.apply(x, nil)
		}
	case simCommit:
		if m := pick(w.members, s.a, alive); m != nil {
			_ = m.committer.Send(context.Background(), nil)
		}
	case simTick:
		w.now = w.now.Add(time.Duration(1+s.a%1500) * time.Millisecond)
	case simAssign:
		w.assign(s.a)
	case simRead:
		w.read(w.readTo + 1 + int(s.a%40))
	case simFollow:
		w.follow()
	case simStandby:
		n := int32(s.b) & 0x7fffffff % w.plan.partitions
		m := pick(w.members, s.a, func(m *simMember) bool { return m.alive && m.workers[n] == nil })
		if m != nil && w.broker.owner[n] != nil {
			w.tail(m, n)
		}
	}
}

// fetch gives a worker up to n records, possibly with some that it already had.
func (w *simWorld) fetch(s *simWorker, in events.Input, back int64, n int) {
	start := w.broker.logs[s.Number][in].start
	if s.Inbox.Expected()[in] < start { // there is no offset to reset to
		s.injured = true
		s.Inbox.Fail(errSimTrimmed)
		return
	}
	from := max(s.Inbox.Expected()[in]-back, start)
	records := w.broker.fetch(s.Number, in, from, n)
	if w.plan.pace > 0 && !w.settling {
		at := w.oldest(s)
		records = slices.DeleteFunc(records, func(r *kgo.Record) bool { return r.Timestamp.Sub(at) > mostLag })
	}
	s.Inbox.Fetch(in, records, w.broker.logs[s.Number][in].end)
}

// mostLag is how far a worker is given an input ahead of another that nobody fetches for it. Where logs
// end, the limit is IndexRetention and a week (DESIGN §4.6), and clocks of producers differ. A worker that
// has records of all inputs merges them by time.
const mostLag = 7 * 24 * time.Hour

// oldest returns the time of the oldest record that a worker has not folded.
func (w *simWorld) oldest(s *simWorker) (at time.Time) {
	at = w.broker.events.Now()
	for in, offset := range s.Fold.Position() {
		for _, r := range w.broker.fetch(s.Number, events.Input(in), offset, 1) {
			if r.Timestamp.Before(at) {
				at = r.Timestamp
			}
		}
	}
	return at
}

// ack writes a set that has left, and acknowledges it. A producer that is fenced gives up.
func (w *simWorld) ack(s *simWorker) {
	if !w.send(s) {
		return
	}
	if !w.broker.write(s.id, s.sentBy, s.flight) {
		w.renew(s.m)
		return
	}
	s.flight, s.sentBy = nil, 0
	s.Inbox.PublishDone(nil)
}

func (w *simWorld) apply(s *simWorker, fail error) {
	c := s.cuts[0]
	s.cuts = s.cuts[1:]
	if fail == nil {
		fail = c.Apply()
	}
	s.Inbox.ApplyDone(fail)
}

// assign gives partitions without an owner to running members, which try to open them.
func (w *simWorld) assign(a uint32) {
	for n := range w.plan.partitions {
		for i := range w.members {
			m := w.members[(int(a)+int(n)+i)%len(w.members)]
			s := m.workers[n]
			if w.broker.owner[n] != nil || !m.alive || s != nil && !s.standby {
				continue // a member that lost it may not have noticed
			}
			w.broker.owner[n] = m
			if !w.own(m, n) {
				w.broker.owner[n] = nil
			}
		}
	}
}

func (w *simWorld) read(to int) {
	for ; w.readTo < min(to, len(w.broker.unread)); w.readTo++ {
		w.found(w.reader.Apply(w.broker.unread[w.readTo].Value))
	}
}

func (w *simWorld) follow() {
	for _, s := range w.workers() {
		if s.standby && w.broker.committed[s.Number].Dominates(projections.Position{}) {
			s.Inbox.Allow(w.broker.committed[s.Number])
		}
	}
}
