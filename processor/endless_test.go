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

// These tests open partitions thousands of times (B9): an opening or a closing that fails must
// release everything that it has taken.

// trouble draws the fault of each opening of a partition.
type trouble struct {
	mu      sync.Mutex
	r       *rand.Rand
	off     bool
	opened  int           // attempted openings
	disk    map[int32]int // operations until a partition's disk fails; absent: it does not
	bucket  map[int32]int // reads until a partition's snapshots fail
	planned map[string]int
}

var errPlanted = errors.New("planted")

func newTrouble(t *testing.T) *trouble {
	seed := rand.Uint64()
	t.Logf("seed %d of the faults", seed)
	return &trouble{r: rand.New(rand.NewPCG(seed, 9)), disk: map[int32]int{}, bucket: map[int32]int{}, planned: map[string]int{}}
}

// open opens a store, or fails.
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
		// A high number hits a later step: the fold and its cuts, a snapshot, or the closing.
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
		if _, err := os.Stat(dir); err == nil { // but not a store that was just restored
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

// count counts an operation, and reports whether it must fail. The caller does not hold mu.
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

// set turns the faults on or off.
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

// flaky is a bucket whose reads sometimes fail or break off.
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

// broken is a reader that ends with an error.
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

// TestThousandOpenings (B9): the partitions of a member open and close a thousand times, while
// their disks, stores and snapshots fail in turn, at every stage. The second half uses no more
// memory, files and goroutines than the first, and in the end nothing is missing.
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
	tr.set(false) // no faults at first
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
			_, _, _ = m.Snapshot(t.Context(), int32(rand.IntN(n)), snapshot.CreateOptions{}) // some of these fail, as intended
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
	half() // allocates what is made only once, such as the race detector's memory
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
	if len(entries) > n*(1+2+1) { // the store, the newest two corrupt ones, and one that the next opening removes
		t.Errorf("%d entries are left in the data directory", len(entries))
	}
}

// upset makes a live partition fail as its disk would, and opens a permanently failed one again as
// a new assignment would.
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
