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
// new worker with a new life.
type State uint8

// States of a partition.
const (
	Opening    State = iota // its store is being restored or opened, and it waits for the order where to begin
	Live                    // it publishes, and answers queries
	Stopping                // it finishes the work in progress
	Failed                  // it stopped because of an error
	Closed                  // it was given away
	Standby                 // another member owns it, and this one follows
	CatchingUp              // it folds up to the committed offsets, and then becomes live
	numStates
)

// words are the names of the states in /readyz. Both opening states have one name there.
var words = [numStates]string{"opening", "live", "stopping", "failed", "closed", "standby", "opening"}

// Words lists all names of states, each once.
func Words() []string { return words[:CatchingUp] }

// String returns the name of the state.
func (s State) String() string {
	if s < numStates {
		return words[s]
	}
	return "State(" + strconv.Itoa(int(s)) + ")"
}

// Opens reports whether a partition is about to become live here.
func (s State) Opens() bool { return s == Opening || s == CatchingUp }

// next lists the allowed transitions by the state that they leave. Failed and Closed are final.
var next = [numStates][]State{
	Opening:    {CatchingUp, Standby, Failed, Closed},
	CatchingUp: {Live, Stopping, Failed},
	Standby:    {CatchingUp, Stopping, Failed},
	Live:       {Stopping, Failed},
	Stopping:   {Failed, Closed},
}

// Transition is one change of state.
type Transition struct{ From, To State }

// Transitions returns all allowed transitions.
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

// State returns the current state.
func (c *Cycle) State() State { return State(c.state.Load()) }

// To changes the state. It panics if the transition is not allowed: that is a bug, and ends only
// this partition. If the partition is already in that state, nothing happens.
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

// Promote changes a standby to catching up. If the partition is not a standby at this moment, it
// does nothing and returns false. The goroutine that first learns of the promotion calls it, even
// if it is not the worker's.
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
