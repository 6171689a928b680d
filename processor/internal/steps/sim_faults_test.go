package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/projections"
)

// fault makes a step that begins or ends a fault.
func (w *simWorld) fault(s simStep) {
	inFlight := func(x *simWorker) bool { return len(x.flight) > 0 }
	owns := func(x *simWorker) bool { return !x.standby && !x.lost && !x.given && w.broker.owner[x.Number] == x.m }
	switch s.kind {
	case simCrash, simOldStore, simNoStore:
		if m := pick(w.members, s.a, alive); m != nil && (s.kind == simCrash || !w.trimmed()) {
			w.crash(m, s.kind, s.b)
		}
	case simRestart:
		if m := pick(w.members, s.a, func(m *simMember) bool { return !m.alive }); m != nil {
			w.start(m)
		}
	case simLose:
		if x := pick(w.workers(), s.a, owns); x != nil && len(w.members) > 1 {
			x.lost = true
			w.broker.owner[x.Number] = nil
		}
	case simLearn:
		if x := pick(w.workers(), s.a, func(x *simWorker) bool { return x.lost }); x != nil {
			w.learn(x)
		}
	case simRevoke:
		if x := pick(w.workers(), s.a, owns); x != nil {
			x.given = true
			x.Inbox.Stop(inbox.StopClean)
		}
	case simAgain:
		if x := pick(w.workers(), s.a, any1); x != nil {
			w.fetch(x, events.Input(s.b%events.NumInputs), 1+int64(s.b/4%9), 1+int(s.b/64%12))
		}
	case simPartly: // the client retries unwritten records
		if x := pick(w.workers(), s.a, inFlight); x != nil {
			if k := int(s.b) % (len(x.flight) + 1); w.send(x) {
				w.broker.write(x.id, x.sentBy, x.flight[:k])
			}
			if len(w.late) > 0 && s.b%3 == 0 {
				w.arrive()
			}
		}
	case simDoubt: // the client retries all of it later
		if x := pick(w.workers(), s.a, inFlight); x != nil {
			if w.send(x) {
				w.broker.write(x.id, x.sentBy, x.flight)
			}
		}
	case simBadCommit:
		if m := pick(w.members, s.a, alive); m != nil {
			m.badCommit = 1 + s.b%2
		}
	case simBackwards:
		w.ahead = latest(w.ahead, w.now)
		w.now = w.now.Add(-time.Duration(s.a%5000) * time.Millisecond)
	case simBadWrite:
		if x := pick(w.workers(), s.a, func(x *simWorker) bool { return len(x.cuts) > 0 }); x != nil {
			x.injured = true
			w.apply(x, errSimDisk)
		}
	case simTrim:
		w.trim(int32(s.a) & 0x7fffffff % w.plan.partitions)
	case simHole:
		n, in := int32(s.a)&0x7fffffff%w.plan.partitions, s.b%events.NumInputs
		w.broker.logs[n][in].end += 1 + int64(s.b/4%3)
	case simReread: // from an older record on; or a late writer sends just that one
		if at := int(s.a) % (w.readTo + 1); s.b%2 == 0 {
			w.readTo = at
		} else {
			w.again(at)
		}
	case simForget:
		w.reader.Forget()
		w.readTo = 0
	case simStall:
		if m := pick(w.members, s.a, alive); m != nil {
			m.stalled = int(s.b % 30)
		}
	}
}

// learn notifies a member that it has lost a partition. From here on the member commits and
// acknowledges nothing of it.
func (w *simWorld) learn(s *simWorker) {
	s.m.committer.Forget([]int32{s.Number})
	w.renew(s.m)
	s.Inbox.Stop(inbox.StopAbort)
}

// arrive writes records that a member sent before it lost a partition.
func (w *simWorld) arrive() {
	l := w.late[0]
	w.late = w.late[1:]
	w.broker.write(l.by, l.producer, l.records)
}

// trim moves the start of a partition's logs to the stored position of its live owner. This is the
// shortest possible retention, so from here on no crash may lose anything of a store. Older stores
// are refused.
func (w *simWorld) trim(n int32) {
	m := w.broker.owner[n]
	if m == nil || m.workers[n] == nil || m.workers[n].lost || m.workers[n].standby || m.workers[n].Life.State() != life.Live {
		return
	}
	stored := m.workers[n].Fold.StoredPosition()
	for in, at := range stored {
		l := &w.broker.logs[n][in]
		l.start = max(l.start, min(at, w.broker.committed[n][in]))
	}
}

// trimmed reports whether any log was trimmed: then no store may be lost, or the partition could
// not be opened.
func (w *simWorld) trimmed() bool {
	return slices.ContainsFunc(w.broker.logs, func(l [events.NumInputs]simLog) bool {
		return slices.ContainsFunc(l[:], func(l simLog) bool { return l.start > 0 })
	})
}

// standsWithin is how long after the end of an overlap of two owners the last record of every key
// is the store's (docs/guarantees.md, "What stands last").
const standsWithin = 10 * time.Second

// settle ends all faults and lets all members work until nothing is left to do (O10). Late records
// arrive last. When it begins, no partition has two owners, so standsWithin later the last record
// of every key must be right. (A clock that was put back must first catch up: the clocks of
// processes never go back.)
func (w *simWorld) settle() {
	over, stands := latest(w.ahead, w.now), false
	w.settling = true
	for range 400 {
		if !stands && w.now.Sub(over) >= standsWithin {
			stands = true
			w.stands()
		}
		for _, m := range w.members {
			m.stalled, m.badCommit = 0, 0
			if !m.alive {
				w.start(m)
			}
		}
		for _, s := range w.workers() {
			if s.lost {
				w.learn(s)
			}
		}
		w.assign(0)
		w.follow()
		for range 200 { // steps that take no time
			if !w.work() {
				break
			}
		}
		for _, m := range w.members {
			if err := m.committer.Send(context.Background(), nil); !errors.Is(err, errSimMember) {
				w.found(err)
			}
		}
		w.now = w.now.Add(300 * time.Millisecond)
		if len(w.wrong) > 0 {
			return
		}
		if w.unsettled() != "" {
			continue
		}
		for len(w.late) > 0 {
			w.arrive()
		}
		return
	}
	w.found(simError("not settled long after the last fault: %s (O10)", w.unsettled()))
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// work lets all members fold, and lets brokers and disks accept the results. It reports whether
// they accepted anything.
func (w *simWorld) work() (took bool) {
	for _, s := range w.workers() {
		for in := range events.NumInputs {
			w.fetch(s, events.Input(in), 0, 50)
		}
		w.step(s, 20)
		if !s.ended && len(s.flight) > 0 {
			w.ack(s)
			took = true
		}
		if !s.ended && len(s.cuts) > 0 {
			w.apply(s, nil)
			took = true
		}
	}
	return took
}

// stands delivers late records, and checks that the last record of every key is right.
func (w *simWorld) stands() {
	for len(w.late) > 0 {
		w.arrive()
	}
	all := checker.NewLog(w.settings, w.plan.partitions, w.broker.records(-1))
	w.checkStanding(all, fmt.Sprintf("O7, as compaction leaves it %s after an overlap of owners", standsWithin))
}

// unsettled describes the remaining work, "" if there is none.
func (w *simWorld) unsettled() string {
	for n := range w.plan.partitions {
		last, m := w.broker.last(n), w.broker.owner[n]
		if m == nil {
			return simError("partition %d has no owner", n).Error()
		}
		s := m.workers[n]
		switch {
		case s.Life.State() != life.Live:
			return simError("partition %d is %s on %s", n, s.Life.State(), m.name).Error()
		case s.Fold.Position() != last:
			return simError("partition %d has folded up to %v of %v", n, s.Fold.Position(), last).Error()
		case s.Fold.StoredPosition() != last:
			return simError("partition %d is stored up to %v of %v", n, s.Fold.StoredPosition(), last).Error()
		case w.broker.committed[n] != last && last != (projections.Position{}):
			return simError("partition %d is committed up to %v of %v", n, w.broker.committed[n], last).Error()
		}
	}
	return ""
}
