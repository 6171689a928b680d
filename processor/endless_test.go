package processor

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/processor/internal/steps"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// Thousands of openings (B9): what fails on the way in or on the way out must give back all that it
// has taken.

// trouble draws what goes wrong with each opening of a partition.
type trouble struct {
	mu      sync.Mutex
	r       *rand.Rand
	off     bool
	opened  int           // openings that were tried
	disk    map[int32]int // operations of a partition's disk until one fails; absent: none does
	bucket  map[int32]int // reads of a partition's snapshots until one fails
	planned map[string]int
}

var errPlanted = errors.New("planted")

func newTrouble(t *testing.T) *trouble {
	seed := rand.Uint64()
	t.Logf("seed %d of the faults", seed)
	return &trouble{r: rand.New(rand.NewPCG(seed, 9)), disk: map[int32]int{}, bucket: map[int32]int{}, planned: map[string]int{}}
}

// open opens a store, or not.
func (tr *trouble) open(dir string, id projections.Identity, o projections.Options) (setup.Fold, error) {
	tr.mu.Lock()
	tr.opened++
	fate := tr.r.IntN(12)
	if tr.off {
		fate = -1
	}
	delete(tr.disk, id.Partition)
	what := "none"
	switch fate {
	case 0, 1, 2, 3, 4, 5:
		// The later ones hit what comes after the opening: the fold and its cuts, a snapshot, the
		// closing.
		what, tr.disk[id.Partition] = "disk", tr.r.IntN(200)
	case 6:
		what = "refused"
	case 7:
		what = "corrupt"
	case 8:
		what, tr.bucket[id.Partition] = "corrupt, and a snapshot that fails", tr.r.IntN(8)
	case 9:
		what = "opened and then failed"
	case 10:
		what = "panic"
	}
	tr.planned[what]++
	tr.mu.Unlock()
	switch what {
	case "refused":
		return nil, errPlanted
	case "corrupt", "corrupt, and a snapshot that fails":
		if _, err := os.Stat(dir); err == nil { // not what was just restored in its place
			return nil, &projections.CorruptError{Dir: dir, Err: errPlanted}
		}
	case "panic":
		panic(errPlanted)
	}
	p, err := projections.Open(dir, id, o)
	if err != nil {
		return nil, err
	}
	if what == "opened and then failed" {
		return nil, errors.Join(errPlanted, p.Close())
	}
	return setup.FoldOf(p), nil
}

// count counts down, and reports whether it is the turn of an operation to fail. mu is not held.
func (tr *trouble) count(left map[int32]int, name string) bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.off {
		return false
	}
	for n, at := range left {
		if !strings.Contains(name, filepath.Base(StoreDir("", n))) {
			continue
		}
		if at == 0 {
			delete(left, n)
			return true
		}
		left[n] = at - 1
	}
	return false
}

// MaybeError implements errorfs.Injector.
func (tr *trouble) MaybeError(op errorfs.Op) error {
	if tr.count(tr.disk, op.Path) {
		return errPlanted
	}
	return nil
}

// String implements errorfs.Injector.
func (tr *trouble) String() string { return "one operation of a partition" }

// set says whether anything is to fail from now on.
func (tr *trouble) set(on bool) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.off = !on
}

func (tr *trouble) openings() int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.opened
}

// flaky is a bucket whose objects cannot be read now and then, or break off.
type flaky struct {
	snapshot.Bucket
	tr *trouble
}

func (f flaky) Get(ctx context.Context, key string) (io.ReadCloser, snapshot.Object, error) {
	bad := f.tr.count(f.tr.bucket, key)
	body, o, err := f.Bucket.Get(ctx, key)
	if err != nil || !bad {
		return body, o, err
	}
	if o.Size%2 == 0 {
		return nil, snapshot.Object{}, errors.Join(errPlanted, body.Close())
	}
	return broken{io.LimitReader(body, o.Size/2), body}, o, nil
}

// broken ends with an error.
type broken struct {
	io.Reader
	io.Closer
}

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = errPlanted
	}
	return n, err
}

// TestThousandOpenings (B9): the partitions of a member are opened and closed a thousand times,
// while their disks, stores and snapshots fail in turn, at every stage. Memory, files and
// goroutines of the second half are those of the first, and in the end nothing is missing.
func TestThousandOpenings(t *testing.T) {
	const n = 8
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), n)
	tr := newTrouble(t)
	inner, _ := bucket(t)
	c := s.config(t.TempDir())
	c.FS = errorfs.Wrap(vfs.Default, tr)
	c.Snapshots = snapshot.New(flaky{inner, tr}, snapshot.Options{FS: c.FS})
	setup.HooksOf(&c).OpenStore = tr.open
	setup.HooksOf(&c).RetryAfter = func(int) time.Duration { return 0 }
	c.MemTableSize = 256 << 10
	w := newTraffic(s, rand.Uint64(), 40)
	w.run(500)
	tr.set(false) // not yet
	m := s.start(c).ready(n)
	s.caughtUp(m)
	m.snapshots(n)
	tr.set(true)

	openings := 1000
	if testing.Short() {
		openings = 300
	}
	half := func() {
		goal := tr.openings() + openings/2
		until(t, "the partitions are opened again and again", func() bool {
			for p := range int32(n) {
				m.upset(p)
			}
			if tr.openings()%50 == 0 {
				w.run(20)
			}
			_, _, _ = m.Snapshot(t.Context(), int32(rand.IntN(n)), snapshot.CreateOptions{}) // fails now and then, as it must
			return tr.openings() >= goal
		})
		tr.set(false)
		until(t, "all are live", func() bool {
			for _, st := range m.Status() {
				if st.State == StateFailed {
					m.upset(st.Partition)
				}
			}
			ok, _ := m.Ready()
			return ok
		})
		s.caughtUp(m)
		tr.set(true)
	}
	half() // what is made once, as the race detector's own memory, is there before anything is compared
	testkit.NoGrowth(t, testkit.Usage{Goroutines: 40, Descriptors: 40, Heap: 4 << 20, Resident: 48 << 20}, half)
	tr.set(false)
	t.Logf("%d openings, with these faults: %v; restored: %d, and %d times in vain", tr.openings(), tr.planned, m.restored("done"), m.restored("failed"))
	if m.restored("done") == 0 || m.restored("failed") == 0 {
		t.Error("no snapshot was restored, or none failed")
	}
	m.stop()
	s.matchesReplay(1, c.DataDir)
	entries, err := os.ReadDir(c.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) > n*(1+2+1) { // the store, the two that were corrupt last, and one that is only tidied away at the next opening
		t.Errorf("%d entries are left in the data directory", len(entries))
	}
}

// upset makes a partition that is live fail as its disk would, and one that failed for good be
// tried again as a new assignment would.
func (m *member) upset(n int32) {
	w := m.worker(n)
	if w == nil {
		return
	}
	switch err := w.Failure.Load(); {
	case err == nil && w.Live.Load() != nil:
		w.Inbox.Fail(failure.Passing(errPlanted))
	case err != nil && !failure.MayPass(*err) && life.Done(w.Done):
		host{m.Processor}.Reopen(w, func(*steps.Worker) {})
	}
}
