package snapshot_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/internal/private"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// readFS counts the bytes that are read from tables.
type readFS struct {
	vfs.FS
	tables atomic.Int64
}

func (f *readFS) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, o...)
	if err == nil && strings.HasSuffix(name, ".sst") {
		file = &readFile{file, f}
	}
	return file, err
}

type readFile struct {
	vfs.File
	fs *readFS
}

func (f *readFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.fs.tables.Add(int64(n))
	return n, err
}

func (f *readFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(p, at)
	f.fs.tables.Add(int64(n))
	return n, err
}

// checks has a store, a bucket and a clock, for tests of a snapshot's checks.
type checks struct {
	*folder
	dir string
	fs  *readFS
	now time.Time
	r   *snapshot.Repository
}

func openChecks(t *testing.T, keep int) *checks {
	dir := t.TempDir()
	c := &checks{dir: dir, fs: &readFS{FS: private.FS}, now: time.Now()}
	c.r = snapshot.New(openBucket(t, "file://"+filepath.Join(dir, "bucket")), snapshot.Options{
		FS: c.fs, Keep: keep, Now: func() time.Time { return c.now },
	})
	c.folder = openStore(t, filepath.Join(dir, "partition-3"), nil)
	t.Cleanup(func() { c.close(t) })
	return c
}

// take takes a snapshot and returns how many bytes of tables were read for it.
func (c *checks) take(t *testing.T) (*snapshot.Manifest, snapshot.Stats, int64, error) {
	t.Helper()
	c.fs.tables.Store(0)
	m, s, err := c.r.Create(t.Context(), c.p, filepath.Join(c.dir, "scratch"), snapshot.CreateOptions{})
	return m, s, c.fs.tables.Load(), err
}

func (c *checks) mustTake(t *testing.T, whole bool) (*snapshot.Manifest, snapshot.Stats, int64) {
	t.Helper()
	m, s, read, err := c.take(t)
	if err != nil || s.Whole != whole {
		t.Fatalf("whole %t, error %v, %+v, tables %v", s.Whole, err, s, c.tables(t))
	}
	return m, s, read
}

// TestASnapshotReadsWhatIsNew: after the first snapshot of a process, a snapshot without news reads
// next to nothing, and a snapshot with news reads only the new tables. After CheckEvery a snapshot
// reads all tables again.
func TestASnapshotReadsWhatIsNew(t *testing.T) {
	c := openChecks(t, 3)
	c.to(t, 40_000)
	_, s, first := c.mustTake(t, true)
	if first < s.Bytes {
		t.Errorf("%d bytes of tables were read for the first snapshot of %d", first, s.Bytes)
	}
	// Pebble reads this much of a table that it opens, with the block that has the header, and its
	// index.
	const opening = 80 << 10
	if _, s, read, err := c.take(t); !errors.Is(err, snapshot.ErrUnchanged) || s.Whole || read > opening {
		t.Errorf("without news %d bytes of tables were read, whole %t, %v", read, s.Whole, err)
	}
	c.to(t, 40_100)
	// A new table is read for its checksums and for its hash, and a third time for its header.
	if _, s, read := c.mustTake(t, false); read > 3*s.UploadedBytes+opening || read < s.UploadedBytes/2 || 4*read > first {
		t.Errorf("%d bytes of tables were read, %d were new; %d the first time", read, s.UploadedBytes, first)
	}
	c.to(t, 40_200)
	c.now = c.now.Add(snapshot.DefaultCheckEvery)
	if _, s, read := c.mustTake(t, true); read < s.Bytes/2 {
		t.Errorf("%d bytes of tables were read, of %d", read, s.Bytes)
	}
}

// rot changes the byte of a table at the given third of it and leaves its times as they are, as a
// disk does.
func rot(t *testing.T, at string, third int) {
	t.Helper()
	info, err := os.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	data[third*len(data)/3] ^= 0x20
	if err := errors.Join(os.WriteFile(at, data, 0o600), os.Chtimes(at, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
}

func (c *checks) tables(t *testing.T) []string {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(c.dir, "partition-3", "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	return tables
}

// TestADamagedNewTableIsNoSnapshot: a snapshot reads the blocks of tables that no snapshot has yet.
func TestADamagedNewTableIsNoSnapshot(t *testing.T) {
	c := openChecks(t, 3)
	c.to(t, 40_000)
	c.mustTake(t, true)
	before := c.tables(t)
	c.to(t, 43_000)                                                       // more than one block: the header is in the first
	if err := c.p.Checkpoint(filepath.Join(c.dir, "flush")); err != nil { // flushes, so that a table has the news
		t.Fatal(err)
	}
	tables := c.tables(t)
	newest := tables[len(tables)-1]
	if slices.Contains(before, newest) {
		t.Fatalf("no new table in %v", tables)
	}
	rot(t, newest, 2)
	_, s, _, err := c.take(t)
	if !projections.IsCorrupt(err) {
		t.Errorf("whole %t, %v", s.Whole, err)
	}
	if s.Whole { // Pebble compacted meanwhile, so that most bytes were new
		t.Log("the check was a whole one")
	}
}

// TestDamageOfAnOldTableIsFoundInTime: damage after a snapshot harms neither that snapshot nor the
// next one. They do not read the table again, because the bucket has its content from before. The
// next whole check finds the damage.
func TestDamageOfAnOldTableIsFoundInTime(t *testing.T) {
	c := openChecks(t, 3)
	c.to(t, 40_000)
	if err := c.p.Close(); err != nil { // no compaction may read the damage
		t.Fatal(err)
	}
	defer func() { c.folder = openStore(t, filepath.Join(c.dir, "other"), nil) }() // so that the cleanup can close it
	stopped, err := projections.OpenStopped(filepath.Join(c.dir, "partition-3"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stopped.Close()
	take := func() (*snapshot.Manifest, snapshot.Stats, error) {
		return c.r.Create(t.Context(), stopped, filepath.Join(c.dir, "scratch"), snapshot.CreateOptions{})
	}
	if _, s, err := take(); err != nil || !s.Whole {
		t.Fatal(s, err)
	}
	rot(t, c.tables(t)[0], 1)
	m, s, err := take()
	if !errors.Is(err, snapshot.ErrUnchanged) || s.Whole {
		t.Errorf("whole %t, %v", s.Whole, err)
	}
	if err := c.r.Download(t.Context(), m, filepath.Join(c.dir, "back"), nil); err != nil {
		t.Errorf("the snapshot cannot be restored: %v", err)
	}
	c.now = c.now.Add(snapshot.DefaultCheckEvery)
	if _, s, err := take(); !projections.IsCorrupt(err) || !s.Whole {
		t.Errorf("whole %t, %v", s.Whole, err)
	}
}

// TestPruneKeepsTheLastWholeCheck: if a record was wrong before its table was written, only a whole
// check notices. So prune keeps the last snapshot that was checked whole beside the newest Keep.
func TestPruneKeepsTheLastWholeCheck(t *testing.T) {
	c := openChecks(t, 1)
	c.to(t, 40_000)
	whole, _, _ := c.mustTake(t, true)
	for i := range int64(2) { // with more, a compaction would make most bytes new
		c.to(t, 40_100+100*i)
		last, _, _ := c.mustTake(t, false)
		own := last.Position()
		if _, err := c.r.Prune(t.Context(), 3, &own, false); err != nil {
			t.Fatal(err)
		}
		list, err := c.r.List(t.Context(), 3)
		if err != nil || len(list) != 2 || list[0].Manifest.Position() != own || list[1].Manifest.Position() != whole.Position() {
			t.Fatalf("%d snapshots are left, %v", len(list), err)
		}
	}
	c.now = c.now.Add(2 * snapshot.DefaultCheckEvery)
	c.to(t, 40_500)
	last, _, _ := c.mustTake(t, true)
	own := last.Position()
	if p, err := c.r.Prune(t.Context(), 3, &own, false); err != nil || len(p.Snapshots) != 2 || p.Kept != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}
