package steps

import (
	"errors"
	"sync"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/outputs"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// TestEveryTransitionIsTaken: partitions make every transition in the table of the life cycle.
func TestEveryTransitionIsTaken(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	taken := map[life.Transition]int{}
	count := func(tr life.Transition) {
		mu.Lock()
		defer mu.Unlock()
		taken[tr]++
	}
	for seed := range uint64(40) {
		w := newSimWorld(drawPlan(seed))
		w.cfg.Taken = count
		for _, s := range w.plan.steps {
			w.do(s)
		}
		w.close()
	}
	counted := func(c *setup.Config) { setup.HooksOf(c).Taken = count }
	until := projections.Position{10, 10, 10}

	// The partition must end while a set is in flight, which is then refused.
	s := newStage(t, opening.Plan{}, counted)
	s.add(events.Messages, 1)
	s.step()
	s.w.Inbox.Stop(inbox.StopClean)
	s.step()
	s.w.Inbox.PublishDone(errors.New("no right to write"))
	s.step()

	// These openings are interrupted, or fail.
	s = newStage(t, opening.Plan{Until: until, Published: true}, counted)
	s.w.Inbox.Stop(inbox.StopClean)
	s.step()
	s = newStage(t, opening.Plan{Until: until, Published: true}, counted)
	s.w.Inbox.Fail(errors.New("the log is gone"))
	s.step()

	// These standbys are no longer needed, or fail.
	standby := func() *stage {
		s := readyStage(t, projections.Position{}, counted)
		s.w.standby = true
		s.w.start(s.now, opening.Plan{Published: true}, until)
		return s
	}
	s = standby()
	s.w.Inbox.Stop(inbox.StopClean)
	s.step()
	s = standby()
	s.w.Inbox.Fail(errors.New("the log is gone"))
	s.step()

	// These are whole lives, from the opening of a store to its closing.
	whole := func(during func(w *Worker)) {
		c := setup.Config{Brokers: []string{"x"}, Group: "g", DataDir: t.TempDir(), Settings: projections.DefaultSettings()}
		counted(&c)
		checked, err := setup.Check(c)
		if err != nil {
			t.Fatal(err)
		}
		e := engine.New(checked)
		e.Cluster.Store(&engine.Cluster{ID: "cluster", Partitions: 1})
		w := New(e, nobody{}, 0, nil, nil)
		during(w)
		w.main()
	}
	whole(func(w *Worker) { w.Refuse(errors.New("not this one")) })
	whole(func(w *Worker) { w.Inbox.Stop(inbox.StopClean) })
	whole(func(w *Worker) {
		w.Life.Taken = func(tr life.Transition) {
			if count(tr); tr.To == life.Live {
				w.Inbox.Stop(inbox.StopClean)
			}
		}
		w.Begin(opening.Order{})
	})

	for _, tr := range life.Transitions() {
		if taken[tr] == 0 {
			t.Errorf("no partition goes from state %d (%s) to state %d (%s)", tr.From, tr.From, tr.To, tr.To)
		}
	}
	t.Logf("%v", taken)
}

// nobody is a host whose methods do nothing.
type nobody struct{}

func (nobody) Publish(*Worker, outputs.Outgoing)        {}
func (nobody) Apply(*Worker, setup.Cut)                 {}
func (nobody) Acknowledged(int32, projections.Position) {}
func (nobody) Committed(int32) (p projections.Position) { return p }
func (nobody) HasWorker(*Worker) bool                   { return false }
func (nobody) CloseInbox(w *Worker, _ bool)             { w.Inbox.Close(false) }
func (nobody) Spoil(int32)                              {}
func (nobody) Reopen(*Worker, func(next *Worker)) bool  { return false }
func (nobody) Ending() <-chan struct{}                  { return nil }
