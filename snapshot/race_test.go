package snapshot_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// turns runs several actors one at a time, in an order that is a function of the seed. Before each
// operation of the bucket an actor waits for its turn.
type turns struct {
	rnd   *rand.Rand
	clock time.Time

	mu      sync.Mutex
	waiting []chan struct{}
	running int
	idle    *sync.Cond
}

func newTurns(seed uint64) *turns {
	s := &turns{rnd: rand.New(rand.NewPCG(seed, 7)), clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	s.idle = sync.NewCond(&s.mu)
	return s
}

func (s *turns) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock
}

// wait blocks the caller until it is its turn.
func (s *turns) wait() {
	turn := make(chan struct{})
	s.mu.Lock()
	s.waiting = append(s.waiting, turn)
	s.running--
	s.idle.Signal()
	s.mu.Unlock()
	<-turn
}

// start runs an actor. It returns when the actor waits for its first turn, so that they wait in the
// order of their starts.
func (s *turns) start(f func()) {
	s.mu.Lock()
	s.running++
	s.mu.Unlock()
	go func() {
		defer func() {
			s.mu.Lock()
			s.running--
			s.idle.Signal()
			s.mu.Unlock()
		}()
		s.wait()
		f()
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.running > 0 {
		s.idle.Wait()
	}
}

// run gives turns until all actors are done. Time passes between two turns, now and then a lot.
func (s *turns) run(between func()) {
	for {
		s.mu.Lock()
		for s.running > 0 {
			s.idle.Wait()
		}
		if len(s.waiting) == 0 {
			s.mu.Unlock()
			return
		}
		i := s.rnd.IntN(len(s.waiting))
		turn := s.waiting[i]
		s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
		s.running++
		step := time.Duration(s.rnd.IntN(60)) * time.Second
		if s.rnd.IntN(40) == 0 {
			step = time.Duration(s.rnd.IntN(5)) * time.Hour
		}
		s.clock = s.clock.Add(step)
		s.mu.Unlock()
		between()
		close(turn)
	}
}

// TestOwnersAndPrunersRace (R3, R11): several processes that all believe that they own the
// partition take snapshots of it, at new or stale positions, and prune, while hours pass between
// any two of their steps. At every moment the current manifest names only existing files, and its
// position never goes back. A stale snapshot is refused with an explanation.
func TestOwnersAndPrunersRace(t *testing.T) {
	fs := vfs.NewMem()
	offsets := []int64{60, 120, 180, 240, 300, 360}
	stores := freeze(t, fs, offsets...)
	runs := 40
	if testing.Short() {
		runs = 10 // the race detector makes each slow
	}
	if n, err := strconv.Atoi(os.Getenv("TIDEMARK_SNAPSHOT_RACES")); err == nil {
		runs = n
	}
	seed := rand.Uint64()
	counts := map[string]int{}
	for run := range runs {
		race(t, fs, stores, offsets, seed+uint64(run), counts)
	}
	t.Logf("seed %d: %v", seed, counts)
	for _, what := range []string{"done", "dominated", "pruned"} {
		if counts[what] == 0 {
			t.Errorf("seed %d: nothing was ever %s: %v", seed, what, counts)
		}
	}
}

func race(t *testing.T, fs vfs.FS, stores map[int64]frozen, offsets []int64, seed uint64, counts map[string]int) {
	s := newTurns(seed)
	b := newMemory()
	b.now = s.now
	faults := rand.New(rand.NewPCG(seed, 99))
	b.before = func(op, _ string) error {
		s.wait()
		if op == "put" && faults.IntN(10) == 0 { // no data race, because it is the caller's turn
			return errDown // leaves files that no manifest names
		}
		return nil
	}
	var mu sync.Mutex
	count := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		counts[what]++
	}
	for a := range 3 {
		plan := rand.New(rand.NewPCG(seed, uint64(a)))
		r := snapshot.New(b, snapshot.Options{FS: fs, Keep: 1 + plan.IntN(2), Grace: 8 * time.Hour, Parallel: 1, Now: s.now})
		s.start(func() {
			at := 0
			for range 8 {
				at = min(at+plan.IntN(5)/2, len(offsets)-1)
				m, _, err := r.Create(t.Context(), stores[offsets[at]], fmt.Sprint("scratch-", a), snapshot.CreateOptions{Full: plan.IntN(8) == 0})
				switch {
				case err == nil:
					count("done")
					own := m.Position()
					p, err := r.Prune(t.Context(), 3, &own, false)
					if err != nil && !errors.Is(err, snapshot.ErrNotCurrent) {
						t.Errorf("seed %d: prune: %v", seed, err)
					}
					if p.Files > 0 {
						count("pruned")
					}
				case errors.Is(err, snapshot.ErrDominated):
					count("dominated")
				case errors.Is(err, snapshot.ErrUnchanged), errors.Is(err, snapshot.ErrConflict):
					count("unchanged or conflict")
				case errors.Is(err, errDown):
					count("interrupted")
				case strings.Contains(err.Error(), "more than a quarter of the grace period"):
					count("too slow")
				default:
					t.Errorf("seed %d: create: %v", seed, err)
				}
			}
		})
	}
	last := projections.Position{}
	s.run(func() {
		quiet := b.clone()
		list, err := snapshot.New(quiet, snapshot.Options{}).List(t.Context(), 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			return
		}
		if !list[0].Current || list[0].Err != nil || list[0].Manifest.Position()[0] < last[0] {
			t.Fatalf("seed %d: the newest snapshot is %+v, it was at %v", seed, list[0], last)
		}
		last = list[0].Manifest.Position()
		for _, f := range list[0].Manifest.Files {
			if o, ok := quiet.objects["partition-3/"+f.Object]; !ok || int64(len(o.data)) != f.Size {
				t.Fatalf("seed %d: the current snapshot at %v names %s, which is gone", seed, last, f.Object)
			}
		}
	})
	b.before = func(string, string) error { return nil }
	if at := restorable(t, b); at != last[0] {
		t.Errorf("seed %d: in the end offset %d is restored, the current one is at %v", seed, at, last)
	}
}

// TestTwoOwnersOneBucket is TestOwnersAndPrunersRace with real buckets in any order: the newest
// snapshot wins, and restores.
func TestTwoOwnersOneBucket(t *testing.T) {
	fs := vfs.NewMem()
	offsets := []int64{60, 120, 180, 240, 300, 360}
	stores := freeze(t, fs, offsets...)
	buckets(t, func(t *testing.T, open func() snapshot.Bucket) {
		var all sync.WaitGroup
		for a := range 2 {
			r := snapshot.New(open(), snapshot.Options{FS: fs})
			all.Go(func() {
				for i := a; i < len(offsets); i += 2 {
					_, _, err := r.Create(t.Context(), stores[offsets[i]], fmt.Sprint("scratch-", t.Name(), a), snapshot.CreateOptions{})
					if err != nil && !errors.Is(err, snapshot.ErrDominated) && !errors.Is(err, snapshot.ErrConflict) {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if at := restorable(t, open()); at != 360 {
			t.Errorf("offset %d is restored", at)
		}
	})
}

// TestRefusals: a new snapshot does not replace these, each for its reason.
func TestRefusals(t *testing.T) {
	fs := vfs.NewMem()
	stores := freeze(t, fs, 100, 200)
	for name, c := range map[string]struct{ old, new, want string }{
		"another cluster":    {`"cluster_id":"test"`, `"cluster_id":"other"`, "belongs to Kafka cluster"},
		"another partition":  {`"partitions":4`, `"partitions":8`, "had 8 partitions, now they have 4"},
		"a topic made anew":  {`"id":"01000000`, `"id":"ff000000`, "was deleted and created again"},
		"ahead of the store": {`"offset":100}`, `"offset":9000}`, "does not dominate"},
		"ahead in one topic": {`"offset":0}`, `"offset":1}`, "does not dominate"},
	} {
		b := filled(t, fs, stores, 100)
		const key = "partition-3/current.manifest"
		for k := range b.objects {
			if strings.Contains(k, "/manifests/") {
				delete(b.objects, k)
			}
		}
		o := b.objects[key]
		b.objects[key] = memoryObject{reseal(o.data, c.old, c.new), o.at, o.version}
		r := snapshot.New(b, snapshot.Options{FS: fs})
		before := len(b.objects)
		if _, _, err := r.Create(t.Context(), stores[200], "scratch", snapshot.CreateOptions{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if len(b.objects) != before {
			t.Errorf("%s: %d objects were uploaded", name, len(b.objects)-before)
		}
	}
	b := filled(t, fs, stores, 200)
	key := "partition-3/current.manifest"
	o := b.objects[key]
	b.objects[key] = memoryObject{reseal(o.data, `"digest":"`+digests(t, 200)[:4], `"digest":"0000`), o.at, o.version}
	if _, _, err := snapshot.New(b, snapshot.Options{FS: fs}).Create(t.Context(), stores[200], "scratch", snapshot.CreateOptions{}); err == nil ||
		!strings.Contains(err.Error(), "one of them is wrong") {
		t.Errorf("two digests of one position: %v", err)
	}
	if _, _, err := snapshot.New(newMemory(), snapshot.Options{FS: fs}).Create(t.Context(), emptyStore(t, fs), "scratch", snapshot.CreateOptions{}); !errors.Is(err, projections.ErrEmpty) {
		t.Errorf("an empty store: %v", err)
	}
	if _, _, err := snapshot.New(newMemory(), snapshot.Options{FS: fs}).Create(t.Context(), stores[200], "scratch", snapshot.CreateOptions{MaxUpload: 10}); !errors.Is(err, snapshot.ErrTooLarge) {
		t.Errorf("more than allowed: %v", err)
	}
}

func emptyStore(t testing.TB, fs vfs.FS) snapshot.Source {
	f := openStore(t, "empty", fs)
	f.close(t)
	return frozen{fs, "empty"}
}
