package steps

import (
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// simSeeds returns the seeds of TestSimulate: TIDEMARK_SIM_SEEDS of them from TIDEMARK_SIM_FROM on,
// else 250, or 50 with -short.
func simSeeds(t *testing.T) (from, n uint64) {
	def := uint64(250)
	if testing.Short() {
		def = 50
	}
	return number(t, "TIDEMARK_SIM_FROM", 0), number(t, "TIDEMARK_SIM_SEEDS", def)
}

// number returns the number in an environment variable, or def.
func number(t *testing.T, env string, def uint64) uint64 {
	t.Helper()
	message := os.Getenv(env)
	if message == "" {
		return def
	}
	n, err := strconv.ParseUint(message, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", env, err)
	}
	return n
}

// TestSimulate (R3): random faults occur between any two steps of the runtime. After they end
// everything must be right. TestSimulate prints a finding with its seed and the fewest steps that
// show it.
func TestSimulate(t *testing.T) {
	t.Parallel()
	from, n := simSeeds(t)
	t.Logf("seeds %d to %d (TIDEMARK_SIM_FROM, TIDEMARK_SIM_SEEDS)", from, from+n-1)
	var next, different atomic.Uint64
	var threads sync.WaitGroup
	for range 2 {
		threads.Go(func() {
			for different.Load() < 3 {
				i := next.Add(1) - 1
				if i >= n {
					return
				}
				plan := drawPlan(from + i)
				if wrong := runSim(plan); wrong != "" {
					different.Add(1)
					short := plan.shrink(func(p *simPlan) bool { return runSim(p) != "" }, 400)
					t.Errorf("seed %d: %s\nin short: %s\n%s", plan.seed, wrong, runSim(short), short)
				}
			}
		})
	}
	threads.Wait()
}
