package chaos

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/internal/test/workload"
)

// tick is the interval between writes of events, and the time unit of faults.
const tick = 20 * time.Millisecond

// attack runs a cluster under load.
type attack struct {
	*cluster
	w *workload.Workload
	r *rand.Rand // for the faults; the workload has its own, so that the faults do not change it
	// reopened means that a process may have lost partitions and opened them again without dying.
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
	values := "json"
	if seed/2%2 != 0 {
		values = "packed"
	}
	t.Logf("seed %d (TIDEMARK_CHAOS_SEED), %d standbys, %s values in Redis", seed, standbys, values)
	c := newCluster(t, brokers, nodes, standbys, append(flags, "--redis-values", values)...)
	c.redisValues = values
	return &attack{cluster: c, w: newWorkload(seed, c.produce), r: rand.New(rand.NewPCG(seed, 2))}
}

// number returns the number in an environment variable, or def.
func number(t *testing.T, env string, def int) int {
	t.Helper()
	message := os.Getenv(env)
	if message == "" {
		return def
	}
	n, err := strconv.Atoi(message)
	if err != nil {
		t.Fatalf("%s: %v", env, err)
	}
	return n
}

// tick writes the events of one tick: a few, now and then a burst that keeps all nodes busy for a
// while.
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

// ticks runs n ticks.
func (a *attack) ticks(n int) {
	a.t.Helper()
	for range n {
		a.tick()
	}
}

// ticksUntil runs ticks until a condition holds.
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

// check waits for the cluster to settle and compares everything. Of each key it compares the last
// value in the log, which compaction keeps even if a former owner wrote it late.
func (a *attack) check() {
	a.t.Helper()
	gone := a.erased()
	a.settle()
	if line := a.overtaken(); line != "" {
		a.t.Logf("a member lost partitions before it finished them, as when it is paused: %s", line)
		a.reopened = true
	}
	begun := time.Now()
	tr := a.truth()
	a.report(a.checkAnswers(tr, a.r))
	a.report(a.checkGone(tr, gone))

	f := &checker.Findings{What: "tidemark.unread against the model of the log"}
	h := checker.NewHistory(a.records(events.TopicUnread), f)
	h.Reopened = a.reopened
	again, back := h.Stamps(f)
	h.Newest(tr, f)
	checked := h.Each(tr, a.r, 1500, f)
	a.report(f)

	f = &checker.Findings{What: "the last record of each channel"}
	left := checker.AfterCompaction(a.records(events.TopicChannels), f)
	a.report(f)
	a.report(left.CheckChannels(tr))

	a.report(a.checkCached(tr))
	a.report(a.checkRefilled(tr))
	letters := a.records(events.TopicDeadLetters)
	a.report(checkDead(tr, letters))
	for _, n := range a.nodes {
		n.stop()
	}
	a.t.Logf("%d input records of %d users in %d channels, %d bad ones with %d dead letters; %d values of %d keys, %d published again, "+
		"%d went back, %d values checked at their stamps; compared in %s", tr.Records, len(tr.Users), len(tr.Channels()),
		len(tr.Bad), len(letters), h.Records, len(h.Keys), again, back, checked, time.Since(begun).Round(time.Millisecond))
	if len(tr.Bad) == 0 || h.Records < len(h.Keys) || checked == 0 {
		a.t.Error("the run was too short to say anything")
	}
}

// TestKill (R5) kills random members of a group of three with SIGKILL at random moments, removes
// them from the group, and restarts them on their data directories in random order, while events
// come in and now and then a user is erased.
func TestKill(t *testing.T) {
	t.Parallel()
	rounds := number(t, "TIDEMARK_CHAOS_ROUNDS", 5)
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
		burst := a.r.IntN(2) * 1500 // it dies idle or amid a batch
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
	a.check()
}
