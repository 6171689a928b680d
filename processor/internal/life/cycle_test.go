package life

import (
	"slices"
	"testing"

	"github.com/tidemark/tidemark/internal/guard"
)

// in returns a life in a state, reached by allowed transitions.
func in(t *testing.T, want State) *Cycle {
	t.Helper()
	seen := map[State]bool{Opening: true}
	type way struct {
		at    State
		steps []State
	}
	for ways := []way{{at: Opening}}; len(ways) > 0; ways = ways[1:] {
		w := ways[0]
		if w.at == want {
			c := &Cycle{}
			for _, s := range w.steps {
				c.To(s)
			}
			return c
		}
		for _, to := range next[w.at] {
			if !seen[to] {
				seen[to] = true
				ways = append(ways, way{to, append(slices.Clone(w.steps), to)})
			}
		}
	}
	t.Fatalf("no way leads to state %d (%s)", want, want)
	return nil
}

// TestTheTableOfTransitions walks every pair of states: a transition in the table happens, any
// other panics and changes nothing, and staying in a state does nothing.
func TestTheTableOfTransitions(t *testing.T) {
	allowed := Transitions()
	for from := range numStates {
		for to := range numStates {
			c := in(t, from)
			var taken []Transition
			c.Taken = func(tr Transition) { taken = append(taken, tr) }
			tr := Transition{from, to}
			may := slices.Contains(allowed, tr)
			if may != from.May(to) {
				t.Errorf("May(%v) is %v", tr, from.May(to))
			}
			panicked := guard.Do("a transition", func() { c.To(to) }) != nil
			switch {
			case from == to && (may || panicked || len(taken) > 0 || c.State() != from):
				t.Errorf("to stay in %d is a transition: %v, %v", from, panicked, taken)
			case from == to:
			case may && (panicked || !slices.Equal(taken, []Transition{tr}) || c.State() != to):
				t.Errorf("%v: panicked %v, taken %v, is in %d", tr, panicked, taken, c.State())
			case !may && (!panicked || len(taken) > 0 || c.State() != from):
				t.Errorf("%v, which is not allowed: panicked %v, taken %v, is in %d", tr, panicked, taken, c.State())
			}
		}
	}
}

// TestEveryLifeEnds: the final states have no transition out, and every other state has a path to
// each of them.
func TestEveryLifeEnds(t *testing.T) {
	for s := range numStates {
		ends := s == Failed || s == Closed
		if ends != (len(next[s]) == 0) {
			t.Errorf("state %d (%s) leads to %v", s, s, next[s])
		}
		if !ends && !s.May(Failed) {
			t.Errorf("state %d (%s) cannot fail", s, s)
		}
		if !ends && !s.May(Closed) && !s.May(Stopping) {
			t.Errorf("state %d (%s) cannot end in order", s, s)
		}
	}
}

func TestPromoteTakesStandbysOnly(t *testing.T) {
	for s := range numStates {
		c := in(t, s)
		if got := c.Promote(); got != (s == Standby) || got && c.State() != CatchingUp || !got && c.State() != s {
			t.Errorf("state %d (%s): promoted %v, is in %d", s, s, got, c.State())
		}
	}
}

func TestWordsOfStates(t *testing.T) {
	if got := Words(); !slices.Equal(got, []string{"opening", "live", "stopping", "failed", "closed", "standby"}) {
		t.Errorf("states are shown as %q: operators' queries and dashboards use these words", got)
	}
	for s := range numStates {
		if !slices.Contains(Words(), s.String()) {
			t.Errorf("state %d is shown as %q", s, s)
		}
		if s.Opens() != (s.String() == "opening") {
			t.Errorf("state %d is shown as %q and opens: %v", s, s, s.Opens())
		}
	}
	if got := State(99).String(); got != "State(99)" {
		t.Errorf("an unknown state is %q", got)
	}
}
