package steps

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/tidemark/tidemark/internal/test/script/random"
)

// A run of the simulator follows a plan: a list of steps, drawn from a seed before the run. A step
// selects its target by a number, modulo the number of possible targets, and does nothing without a
// target. So any part of a plan is a plan too, and a plan with a finding can be shortened.

// simKind is the kind of a step.
type simKind uint8

const (
	simProduce simKind = iota // a few events are written to the inputs
	simFetch                  // a worker is given some records of one input
	simFold                   // a worker makes a few steps
	simAck                    // a set that is in flight is written and acknowledged
	simApply                  // a cut is written
	simCommit                 // a member commits
	simTick                   // time passes
	simAssign                 // the group gives partitions without an owner to members
	simRead                   // the reader of the outputs reads on
	simFollow                 // standbys get the committed offsets
	simStandby                // a member begins to tail a partition
	simNormal          = simStandby
	simCrash   simKind = iota - 1 // a member is killed; the contents of its stores then vary
	simRestart                    // it comes back
	simLose                       // the group gives up a member, which does not notice
	simLearn                      // it notices
	simRevoke                     // a partition moves to another member in an orderly way
	simAgain                      // the client fetches from an older offset
	simPartly                     // a set in flight is written in part, and the rest is retried
	simDoubt                      // it is written, and the answer is an error
	simBadCommit
	simBackwards // the clock of the members jumps
	simBadWrite  // a cut cannot be written
	simOldStore  // a crash leaves a store as it was at an earlier opening
	simNoStore   // a crash leaves no store
	simTrim      // the log is trimmed up to the lowest stored position
	simHole      // unreadable offsets: an aborted transaction
	simReread    // the reader of the outputs starts again at an older record
	simForget    // the reader loses its values
	simStall     // a member does nothing for a while
	numSimKinds
)

var simNames = [numSimKinds]string{"produce", "fetch", "fold", "ack", "apply", "commit", "tick", "assign", "read", "follow",
	"standby", "crash", "restart", "lose", "learn", "revoke", "fetch again", "write in part", "write and fail", "fail to commit",
	"clock back", "fail to apply", "crash to an old store", "crash to no store", "trim", "hole", "read again", "forget", "stall"}

// simStep is one step. Its kind determines the meaning of a and b.
type simStep struct {
	kind simKind
	a, b uint32
}

func (s simStep) String() string {
	return fmt.Sprintf("%s %d %d", simNames[s.kind], s.a%1000, s.b%1000)
}

// simPlan is a run.
type simPlan struct {
	seed       uint64
	members    int
	partitions int32
	fanout     uint32
	sendReads  bool
	batch      int
	lock       int           // largest number of records that are folded in one go
	bursts     bool          // now and then there is more than is folded in one go
	rareCuts   bool          // stores are as far behind as those of busy partitions
	pace       time.Duration // of the events; 0 is the default of the workload
	parts      []random.Part
	steps      []simStep
}

// drawPlan draws a run. Each run draws its own mix first (swarm testing): which faults may occur,
// and how often each kind of step occurs. So rare steps meet each other without common ones in
// between.
func drawPlan(seed uint64) *simPlan {
	r := rand.New(rand.NewPCG(seed, 3))
	p := &simPlan{
		seed: seed, members: 1 + r.IntN(3), partitions: 1 + r.Int32N(2), fanout: []uint32{50, 50, 3, 0}[r.IntN(4)],
		sendReads: r.IntN(4) > 0, batch: []int{10_000, 10, 3}[r.IntN(3)], bursts: r.IntN(40) == 0, rareCuts: seed%2 == 1,
		lock: []int{lockRecords, lockRecords, 5, 2}[rand.New(rand.NewPCG(seed, 8)).IntN(4)],
	}
	if seed%3 == 0 {
		p.pace = []time.Duration{0, 4 * time.Hour, 12 * time.Hour}[rand.New(rand.NewPCG(seed, 10)).IntN(3)]
	}
	parts := rand.New(rand.NewPCG(seed, 9))
	for _, part := range random.Admitted() {
		if parts.IntN(3) > 0 {
			p.parts = append(p.parts, part)
		}
	}
	weights := [numSimKinds]int{simProduce: 12, simFetch: 20, simFold: 30, simAck: 12, simApply: 8, simCommit: 6, simTick: 8,
		simAssign: 6, simRead: 4}
	for k := range simNormal {
		weights[k] = max(1, weights[k]*(1+r.IntN(4))/2)
	}
	weights[simFollow], weights[simStandby] = 0, 0
	if p.members > 1 && r.IntN(2) == 0 {
		weights[simFollow], weights[simStandby] = 4, 3
	}
	for k := simNormal + 1; k < numSimKinds; k++ {
		if r.IntN(2) == 0 {
			weights[k] = 1 + r.IntN(3)
		}
	}
	weights[simRestart] = 4
	total := 0
	for _, w := range weights {
		total += w
	}
	for range 40 + r.IntN(260) {
		at := r.IntN(total)
		k := simKind(0)
		for at >= weights[k] {
			at -= weights[k]
			k++
		}
		p.steps = append(p.steps, simStep{k, r.Uint32(), r.Uint32()})
	}
	return p
}

// without returns the plan without some steps.
func (p *simPlan) without(from, to int) *simPlan {
	q := *p
	q.steps = append(append([]simStep(nil), p.steps[:from]...), p.steps[to:]...)
	return &q
}

// shrink leaves out as many steps as it can while fails still reports a finding. It calls fails at
// most tries times.
func (p *simPlan) shrink(fails func(*simPlan) bool, tries int) *simPlan {
	for chunk := max(len(p.steps)/2, 1); chunk > 0 && tries > 0; {
		smaller := false
		for at := 0; at < len(p.steps) && tries > 0; {
			q := p.without(at, min(at+chunk, len(p.steps)))
			tries--
			if fails(q) {
				p, smaller = q, true
			} else {
				at += chunk
			}
		}
		if !smaller || chunk > 1 {
			chunk /= 2
		}
	}
	return p
}

func (p *simPlan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d members, %d partitions, fan-out limit %d, batches of %d, %d at once, send marks read %t, bursts %t, said %v; %d steps:",
		p.seed, p.members, p.partitions, p.fanout, p.batch, p.lock, p.sendReads, p.bursts, p.parts, len(p.steps))
	for i, s := range p.steps {
		if i%8 == 0 {
			b.WriteString("\n   ")
		}
		fmt.Fprintf(&b, " %v;", s)
	}
	return b.String()
}
