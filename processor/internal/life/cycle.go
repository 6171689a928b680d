// Package life is the life cycle of a partition on one node: the states, the allowed transitions,
// and a partition's status. docs/architecture.md has the picture.
//
//	cycle.go   the states and the table of transitions
//	status.go  the status of a partition, and the errors of a node that does not answer for it
package life

import (
	"fmt"
	"strconv"
	"sync/atomic"
)

// State is the phase of a partition's life in this process. A partition that is opened again has a
// new worker, which begins a new life.
type State uint8

// States of a partition.
const (
	Opening    State = iota // its store is restored and opened, and it waits for the order where to begin
	Live                    // it publishes, and answers queries
	Stopping                // it finishes what it has begun
	Failed                  // it stopped because of an error
	Closed                  // it was given away
	Standby                 // another member owns it, and this one follows
	CatchingUp              // it folds up to where the group has committed; only then it is live
	numStates
)

// words are the names of the states in /readyz. Both opening states have one name there.
var words = [numStates]string{"opening", "live", "stopping", "failed", "closed", "standby", "opening"}

// Words are all words that a state is shown as, each once.
func Words() []string { return words[:CatchingUp] }

// String is the state in one word.
func (s State) String() string {
	if s < numStates {
		return words[s]
	}
	return "State(" + strconv.Itoa(int(s)) + ")"
}

// Opens reports whether a partition is on its way to be live here.
func (s State) Opens() bool { return s == Opening || s == CatchingUp }

// next has the transitions that are allowed, by the state that they leave. Failed and Closed are
// the ends.
var next = [numStates][]State{
	Opening:    {CatchingUp, Standby, Failed, Closed},
	CatchingUp: {Live, Stopping, Failed},
	Standby:    {CatchingUp, Stopping, Failed},
	Live:       {Stopping, Failed},
	Stopping:   {Failed, Closed},
}

// Transition is a step of a life.
type Transition struct{ From, To State }

// Transitions are all that are allowed.
func Transitions() (all []Transition) {
	for from, tos := range next {
		for _, to := range tos {
			all = append(all, Transition{State(from), to})
		}
	}
	return all
}

// May reports whether a partition may go from state s to another one.
func (s State) May(to State) bool {
	if s >= numStates {
		return false
	}
	for _, t := range next[s] {
		if t == to {
			return true
		}
	}
	return false
}

// Cycle is the life of one partition. The zero value is Opening. Only its worker moves it on; any
// goroutine may read it.
type Cycle struct {
	state atomic.Uint32
	// Taken is called after each transition, in the goroutine that makes it; it may be nil. Set it
	// before the first transition.
	Taken func(Transition)
}

// State is where the partition is.
func (c *Cycle) State() State { return State(c.state.Load()) }

// To moves the partition on. It panics if the transition is not allowed: that is a bug, and ends
// this partition alone. Where the partition is already, nothing happens.
func (c *Cycle) To(to State) {
	for {
		from := c.State()
		if from == to {
			return
		}
		if !from.May(to) {
			panic(fmt.Sprintf("a partition that is in state %d (%s) goes on to state %d (%s)", from, from, to, to))
		}
		if c.swap(from, to) {
			return
		}
	}
}

// Promote makes a standby catch up. It reports false, and does nothing, if the partition is no
// standby at this moment. The goroutine that learns of the promotion first calls it, even if it is
// not the worker.
func (c *Cycle) Promote() bool { return c.swap(Standby, CatchingUp) }

func (c *Cycle) swap(from, to State) bool {
	if !c.state.CompareAndSwap(uint32(from), uint32(to)) {
		return false
	}
	if c.Taken != nil {
		c.Taken(Transition{from, to})
	}
	return true
}
