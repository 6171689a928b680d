package snapshots

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// site is a data directory, a bucket, and the output of the verbs.
type site struct {
	data           string
	bucket         verbs.BucketFlags
	app            *verbs.App
	stdout, stderr bytes.Buffer
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{data: filepath.Join(dir, "data"), bucket: verbs.BucketFlags{Snapshots: "file://" + filepath.Join(dir, "bucket")}}
	s.app = &verbs.App{Ctx: t.Context(), Stdin: &bytes.Buffer{}, Stdout: &s.stdout, Stderr: &s.stderr}
	return s
}

func identity(partition int32) projections.Identity {
	return projections.Identity{ClusterID: "c", Partition: partition, Partitions: 4, Settings: projections.DefaultSettings()}
}

// position returns the position in chat.messages of a store of partition 0.
func position(t *testing.T, dir string) int64 {
	t.Helper()
	p, err := projections.Open(dir, identity(0), projections.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := p.Position()[events.Messages]
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return at
}

// fold adds n messages to the store of a partition, and closes it.
func (s *site) fold(t *testing.T, partition int32, n int) {
	t.Helper()
	p, err := projections.Open(verbs.StoreDir(s.data, partition), identity(partition), projections.Options{})
	if err != nil {
		t.Fatal(err)
	}
	from := p.Position()[events.Messages]
	for i := range int64(n) {
		p.FoldMessage(&events.Message{Kind: events.KindMessagePosted, ChannelID: []byte("town"), SenderID: []byte("ann"),
			MessageID: fmt.Append(nil, "m", from+i), OccurredAt: 1000 + i}, from+i, 1000+i)
	}
	p.Drain(&projections.Deltas{}, true)
	c, err := p.Cut()
	if err == nil {
		err = c.Apply()
	}
	if err := errors.Join(err, p.Close()); err != nil {
		t.Fatal(err)
	}
}

// run runs a verb and returns its output.
func (s *site) run(t *testing.T, verb interface{ Run(*verbs.App) error }) (string, error) {
	t.Helper()
	s.stdout.Reset()
	s.stderr.Reset()
	err := verb.Run(s.app)
	return s.stdout.String(), err
}

// must runs a verb that must succeed.
func (s *site) must(t *testing.T, verb interface{ Run(*verbs.App) error }) string {
	t.Helper()
	out, err := s.run(t, verb)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, &s.stderr)
	}
	return out
}

func (s *site) create() *createCmd { return &createCmd{Snapshots: s.bucket.Snapshots, DataDir: s.data} }

// The snapshots of create are listed newest first, verified, pruned and restored.
func TestSnapshotsFromCreateToRestore(t *testing.T) {
	s := newSite(t)
	s.fold(t, 0, 5)
	s.fold(t, 2, 3)
	if out := s.must(t, s.create()); !strings.HasPrefix(out, "partition 0: snapshot 5-0-0, ") || !strings.Contains(out, "\npartition 2: snapshot 3-0-0, ") {
		t.Errorf("create prints\n%s", out)
	}
	one := s.create()
	one.Partition = []int32{0}
	if out := s.must(t, one); !strings.Contains(out, "the snapshot 5-0-0 has the same position; --full") {
		t.Errorf("create prints\n%s", out)
	}
	s.fold(t, 0, 4)
	one.JSON = true
	var made createdInfo
	if err := json.Unmarshal([]byte(s.must(t, one)), &made); err != nil || made.Name != "9-0-0" || made.Unchanged || made.UploadedFiles == 0 || made.Cluster != "c" {
		t.Errorf("%+v, %v", made, err)
	}

	list := strings.Split(strings.TrimSpace(s.must(t, &listCmd{BucketFlags: s.bucket})), "\n")
	if len(list) != 4 || !strings.Contains(list[1], "9-0-0") || !strings.HasSuffix(list[1], "current") ||
		!strings.Contains(list[2], "5-0-0") || strings.Contains(list[2], "current") || !strings.Contains(list[3], "3-0-0") {
		t.Errorf("list prints\n%s", strings.Join(list, "\n"))
	}
	verify := &verifyCmd{BucketFlags: s.bucket, All: true, Tmp: t.TempDir()}
	if out := s.must(t, verify); strings.Count(out, " is in order: ") != 3 {
		t.Errorf("verify prints\n%s", out)
	}
	verify.All = false
	if out := s.must(t, verify); strings.Count(out, " is in order: ") != 2 {
		t.Errorf("verify prints\n%s", out)
	}

	prune := &pruneCmd{BucketFlags: s.bucket, RetentionFlags: verbs.RetentionFlags{SnapshotKeep: 1, SnapshotGrace: time.Hour}, DryRun: true}
	if out := s.must(t, prune); !strings.Contains(out, "partition 0: would remove 1 snapshot and ") || !strings.Contains(out, "partition 2: would remove 0 snapshots") {
		t.Errorf("prune prints\n%s", out)
	}
	prune.DryRun = false
	var usage verbs.UsageError
	if out, err := s.run(t, prune); !errors.As(err, &usage) || out != "" {
		t.Errorf("prune asked nobody: %v\n%s", err, out)
	}
	prune.Yes = true
	if out := s.must(t, prune); !strings.Contains(out, "partition 0: removed 1 snapshot and ") {
		t.Errorf("prune prints\n%s", out)
	}
	if out := s.must(t, &listCmd{BucketFlags: s.bucket}); strings.Contains(out, "5-0-0") {
		t.Errorf("list prints\n%s", out)
	}

	elsewhere := filepath.Join(t.TempDir(), "data")
	if out := s.must(t, &restoreCmd{BucketFlags: s.bucket, DataDir: elsewhere, Parallel: 2}); strings.Count(out, "partition ") != 2 {
		t.Errorf("restore prints\n%s", out)
	}
	if at := position(t, verbs.StoreDir(elsewhere, 0)); at != 9 {
		t.Errorf("the restored store is at %d", at)
	}
}

// verify finds a damaged snapshot and exits with differences. restore reports it and uses the one
// before it, and create --full repairs it.
func TestDamagedSnapshot(t *testing.T) {
	s := newSite(t)
	s.fold(t, 0, 5)
	s.must(t, s.create())
	old := files(t, s.bucket)
	s.fold(t, 0, 4)
	s.must(t, s.create())
	for name := range files(t, s.bucket) {
		if !old[name] && filepath.Base(filepath.Dir(name)) == "files" {
			if err := os.WriteFile(name, []byte("no longer what it was"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	verify := &verifyCmd{BucketFlags: s.bucket, All: true}
	out, err := s.run(t, verify)
	if !errors.Is(err, verbs.ErrDifferences) || strings.Count(out, " is in order: ") != 1 || !strings.Contains(out, "partition 0: snapshot 9-0-0: ") {
		t.Errorf("%v\n%s", err, out)
	}
	restore := &restoreCmd{BucketFlags: s.bucket, DataDir: filepath.Join(t.TempDir(), "data"), Parallel: 2}
	restore.JSON = true
	var info restoredInfo
	if err := json.Unmarshal([]byte(s.must(t, restore)), &info); err != nil || info.Name != "5-0-0" || len(info.Damaged) != 1 {
		t.Errorf("%+v, %v", info, err)
	}
	full := s.create()
	full.Full = true
	s.must(t, full)
	if out := s.must(t, verify); strings.Count(out, " is in order: ") != 2 {
		t.Errorf("verify prints\n%s", out)
	}
}

// files returns the names of the files in a bucket's folder.
func files(t *testing.T, b verbs.BucketFlags) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	if err := filepath.WalkDir(strings.TrimPrefix(b.Snapshots, "file://"), func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			all[name] = true
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// restore replaces a store only with --replace, keeps the old one, and finds a snapshot by name.
func TestRestoreOverAStore(t *testing.T) {
	s := newSite(t)
	s.fold(t, 0, 5)
	s.must(t, s.create())
	s.fold(t, 0, 4)
	s.must(t, s.create())
	restore := &restoreCmd{BucketFlags: s.bucket, DataDir: s.data, At: "5-0-0", Parallel: 1}
	if err := restore.Validate(); err == nil || !strings.Contains(err.Error(), "--partition") {
		t.Errorf("the error is %v", err)
	}
	restore.Partition = []int32{0}
	if err := restore.Validate(); err != nil {
		t.Fatal(err)
	}
	if out, err := s.run(t, restore); err == nil || !strings.Contains(err.Error(), "--replace") {
		t.Errorf("%v\n%s", err, out)
	}
	restore.Replace, restore.Yes, restore.JSON = true, true, true
	var info restoredInfo
	if err := json.Unmarshal([]byte(s.must(t, restore)), &info); err != nil || info.Name != "5-0-0" || info.Dir != verbs.StoreDir(s.data, 0) {
		t.Fatalf("%+v, %v", info, err)
	}
	if at := position(t, info.Replaced); at != 9 {
		t.Errorf("the replaced store is at %d", at)
	}
	if at := position(t, info.Dir); at != 5 {
		t.Errorf("the restored store is at %d", at)
	}
	restore.At = "6-0-0"
	if _, err := s.run(t, restore); err == nil || !strings.Contains(err.Error(), "there is no snapshot 6-0-0") {
		t.Errorf("the error is %v", err)
	}
	var usage verbs.UsageError
	restore.At = "six"
	if _, err := s.run(t, restore); !errors.As(err, &usage) {
		t.Errorf("the error is %v", err)
	}
}

// The errors of create name missing flags, and the way out if a store is in use.
func TestCreateRefuses(t *testing.T) {
	s := newSite(t)
	if err := (&createCmd{}).Validate(); err == nil || !strings.Contains(err.Error(), "--snapshots") {
		t.Errorf("the error is %v", err)
	}
	if _, err := s.run(t, s.create()); err == nil || !strings.HasPrefix(err.Error(), "no data directory at ") {
		t.Errorf("the error is %v", err)
	}
	if err := os.Mkdir(s.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.run(t, s.create()); err == nil || !strings.HasPrefix(err.Error(), "there are no stores in ") {
		t.Errorf("the error is %v", err)
	}
	s.fold(t, 0, 1)
	c := s.create()
	c.Partition = []int32{0, 3}
	if _, err := s.run(t, c); err == nil || !strings.HasPrefix(err.Error(), "there is no store of partition 3 in ") {
		t.Errorf("the error is %v", err)
	}
	p, err := projections.OpenStopped(verbs.StoreDir(s.data, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := s.run(t, s.create()); err == nil || !strings.Contains(err.Error(), "name the node that uses it with --node") {
		t.Errorf("the error is %v", err)
	}
	s.app.Given = map[string]bool{"data-dir": true}
	c = s.create()
	c.Node = "http://127.0.0.1:1"
	var usage verbs.UsageError
	if _, err := s.run(t, c); !errors.As(err, &usage) || !strings.Contains(err.Error(), "leave out --data-dir") {
		t.Errorf("the error is %v", err)
	}
}

func TestProgressLine(t *testing.T) {
	got := progressLine(map[int32]snapshot.Progress{3: {Phase: "download", Done: 1 << 20, Total: 4 << 20, Rate: 1 << 20, ETA: 3 * time.Second}})
	if want := "partition 3: download 25.0% of 4MiB, 1MiB/s, 3s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := progressLine(map[int32]snapshot.Progress{3: {Phase: "checks"}}); got != "partition 3: checks" {
		t.Errorf("%q", got)
	}
}

// The progress of partitions that are restored side by side is one line with their sum.
func TestProgressOfPartitionsSideBySide(t *testing.T) {
	s := newSite(t)
	b := newBoard(s.app)
	b.every = 0
	one, endOne := b.of(3)
	two, endTwo := b.of(0)
	one(snapshot.Progress{Phase: snapshot.PhaseDownload, Done: 1 << 20, Total: 4 << 20, Rate: 1 << 20, ETA: 3 * time.Second})
	two(snapshot.Progress{Phase: snapshot.PhaseDownload, Done: 1 << 20, Total: 4 << 20, Rate: 2 << 20, ETA: 2 * time.Second})
	endOne()
	two(snapshot.Progress{Phase: snapshot.PhaseCheck})
	endTwo()
	want := "partition 3: download 25.0% of 4MiB, 1MiB/s, 3s left\n" +
		"partitions 0, 3: download 25.0% of 8MiB, 3MiB/s, 3s left\n" +
		"partition 0: check\n"
	if s.stderr.String() != want {
		t.Errorf("it prints\n%swant\n%s", &s.stderr, want)
	}
}
