package chaos

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/checker"
	"github.com/tidemark/tidemark/internal/workload"
)

// tick is how often events are written, and the unit in which faults are timed.
const tick = 20 * time.Millisecond

// attack is a cluster under load.
type attack struct {
	*cluster
	w *workload.Workload
	r *rand.Rand // of the faults; the workload has its own, so that it does not depend on them
	// reopened says that a process may have lost partitions and opened them again without having died.
	reopened bool
	written  int // events, by tick
	erasures []*erasure
}

func newAttack(t *testing.T, brokers, nodes int, flags ...string) *attack {
	t.Helper()
	seed := rand.Uint64()
	if env := os.Getenv("TIDEMARK_CHAOS_SEED"); env != "" {
		var err error
		if seed, err = strconv.ParseUint(env, 10, 64); err != nil {
			t.Fatalf("TIDEMARK_CHAOS_SEED: %v", err)
		}
	}
	standbys := int(seed % 2)
	t.Logf("seed %d (TIDEMARK_CHAOS_SEED), %d standbys", seed, standbys)
	c := newCluster(t, brokers, nodes, standbys, flags...)
	return &attack{cluster: c, w: newWorkload(seed, c.produce), r: rand.New(rand.NewPCG(seed, 2))}
}

// number is what an environment variable says, else def.
func number(t *testing.T, env string, def int) int {
	t.Helper()
	said := os.Getenv(env)
	if said == "" {
		return def
	}
	n, err := strconv.Atoi(said)
	if err != nil {
		t.Fatalf("%s: %v", env, err)
	}
	return n
}

// tick writes what comes in within one tick: a few events, now and then a burst that keeps everybody busy for a while.
func (a *attack) tick() {
	a.t.Helper()
	n := a.r.IntN(6)
	if a.r.IntN(120) == 0 {
		n = 400
	}
	a.w.Write(n)
	a.written += n
	for _, n := range a.nodes {
		n.running()
	}
	time.Sleep(tick)
}

// ticks goes on for so many.
func (a *attack) ticks(n int) {
	a.t.Helper()
	for range n {
		a.tick()
	}
}

// ticksUntil goes on until something has happened.
func (a *attack) ticksUntil(what string, done func() bool) {
	a.t.Helper()
	deadline := time.Now().Add(patience)
	for !done() {
		if time.Now().After(deadline) {
			a.t.Fatalf("not within %s: %s", patience, what)
		}
		a.ticks(5)
	}
}

// check settles and compares everything. With lateWriter a process was paused and may have written after its successor, which
// is so as well if the machine stood still for so long that a member lost its partitions.
func (a *attack) check(lateWriter bool) {
	a.t.Helper()
	gone := a.erased()
	a.settle()
	if line := a.overtaken(); line != "" {
		a.t.Logf("a successor did not wait for a member, as when it is paused: %s", line)
		lateWriter, a.reopened = true, true
	}
	if lateWriter {
		a.decide()
	}
	begun := time.Now()
	tr := a.truth()
	a.report(a.checkAnswers(tr, a.r))
	a.report(a.checkGone(tr, gone))

	f := &checker.Findings{What: "tidemark.unread against the model of the log"}
	h := checker.NewHistory(a.records(events.TopicUnread), f)
	h.Reopened = a.reopened
	again, back := h.Stamps(f)
	late := h.Newest(tr, !lateWriter, f)
	checked := h.Each(tr, a.r, 1500, f)
	a.report(f)

	a.report(a.checkCached(tr))
	letters := a.records(events.TopicDeadLetters)
	a.report(checkDead(tr, letters))
	for _, n := range a.nodes {
		n.stop()
	}
	a.t.Logf("%d input records of %d users in %d channels, %d bad ones with %d dead letters; %d values of %d keys, %d said again, "+
		"%d went back, %d keys end with an older one, %d values checked at their stamps; compared in %s", tr.Records, len(tr.Users), len(tr.Channels()),
		len(tr.Bad), len(letters), h.Records, len(h.Keys), again, back, late, checked, time.Since(begun).Round(time.Millisecond))
	if len(tr.Bad) == 0 || h.Records < len(h.Keys) || checked == 0 {
		a.t.Error("the run was too short to say anything")
	}
}

// decide changes the keys once more of which two owners at the same time have said the last words, and neither dominates: the
// next value does (docs/guarantees.md, what is not promised).
func (a *attack) decide() {
	a.t.Helper()
	keys := checker.NewHistory(a.records(events.TopicUnread), &checker.Findings{}).Undecided() // what is wrong is found by check
	if len(keys) == 0 {
		return
	}
	a.t.Logf("two owners have left %d keys undecided, such as %q", len(keys), keys[0])
	tr := a.truth()
	for _, key := range keys {
		for _, r := range tr.Nudge(key, a.w.Now()) {
			a.produce(r)
		}
	}
	a.settle()
}

// TestKill (R5): random members of a group of three are killed with SIGKILL at random moments, given up by the group, and
// started again on their data directories, in whatever order, while events come in and now and then somebody is erased.
func TestKill(t *testing.T) {
	t.Parallel()
	rounds := number(t, "TIDEMARK_CHAOS_ROUNDS", 10)
	a := newAttack(t, 1, 3)
	var back *node // started, and perhaps not a member yet
	for round := range rounds {
		victim := a.nodes[a.r.IntN(len(a.nodes))]
		a.ticks(5 + a.r.IntN(200))
		if back != nil && back != victim {
			a.ticksUntil(back.name+" is a member", func() bool { return a.seat(back) })
		}
		if round%max(rounds/8, 3) == 1 {
			a.erase()
		}
		burst := a.r.IntN(2) * 1500 // it dies idle, or busy with a batch
		a.w.Write(burst)
		time.Sleep(time.Duration(a.r.Int64N(int64(5 * tick))))
		victim.kill()
		dead := a.places(victim)
		evict, restart := a.r.IntN(75), a.r.IntN(75)
		t.Logf("round %d: %s is killed after a burst of %d, given up after %s, started after %s", round+1, victim.name, burst,
			time.Duration(evict)*tick, time.Duration(restart)*tick)
		for i := range max(evict, restart) + 1 {
			if i == evict {
				a.evict(dead)
			}
			if i == restart {
				victim.start()
			}
			a.tick()
		}
		back = victim
	}
	a.check(false)
}
