package node

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/snapshot"
)

// TestSnapshotsOfThePage: the bucket is queried now and then, and errors are listed beside the
// snapshots that can be read.
func TestSnapshotsOfThePage(t *testing.T) {
	dir := t.TempDir()
	bucket, err := snapshot.OpenBucket("file://" + filepath.ToSlash(dir))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	l := &snapshotLister{repo: snapshot.New(bucket, snapshot.Options{}), now: func() time.Time { return now }}
	list, err := l.get(t.Context())
	if err != nil || list == nil || len(list) != 0 {
		t.Fatalf("of an empty bucket: %v, %v; want an empty list, which is not the same as none kept", list, err)
	}

	broken := filepath.Join(dir, "partition-3", "current.manifest")
	if err := os.MkdirAll(filepath.Dir(broken), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.get(t.Context()); err != nil {
		t.Errorf("asked again at once: %v", err)
	}
	now = now.Add(snapshotsFresh)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = l.get(gone) // a caller that leaves does not affect the others
	if list, err = l.get(t.Context()); err == nil || len(list) != 0 || !strings.Contains(err.Error(), "partition-") {
		t.Errorf("with a manifest that cannot be used: %v, %v", list, err)
	}
}
