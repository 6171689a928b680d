package admin

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/guard/httpguard"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/snapshot"
)

// buggy is a node that panics at one call.
type buggy struct {
	node
	at string
}

func (b *buggy) plant(where string) {
	if b.at == where {
		b.at = ""
		panic("planted at " + where)
	}
}

func (b *buggy) Status() []processor.PartitionStatus { b.plant("status"); return b.node.Status() }

func (b *buggy) Checkpoint(n int32, dir string) error {
	b.plant("checkpoint")
	return b.node.Checkpoint(n, dir)
}

func (b *buggy) Snapshot(ctx context.Context, n int32, o snapshot.CreateOptions) (*snapshot.Manifest, snapshot.Stats, error) {
	b.plant("snapshot")
	return b.node.Snapshot(ctx, n, o)
}

// TestPanicEndsTheCall: an operator's call fails as internal and reveals nothing of the bug, which
// the log has. Of several snapshots only the one of the partition with the bug fails. The next call
// succeeds.
func TestPanicEndsTheCall(t *testing.T) {
	var log testkit.Output
	n := &buggy{}
	dir := t.TempDir()
	logger := slog.New(slog.NewTextHandler(&log, nil))
	s := httptest.NewServer(httpguard.Handler(logger, Handler(Config{Node: n, DataDir: dir, Snapshots: "file:///b", Logger: logger})))
	defer s.Close()
	c := &Client{URL: s.URL}
	if err := os.MkdirAll(filepath.Join(dir, "verify-1", "copies"), 0o700); err != nil {
		t.Fatal(err)
	}
	failed := func(where string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), httpguard.Answer) || strings.Contains(err.Error(), "planted") {
			t.Errorf("a bug at %s: %v, want %q", where, err, httpguard.Answer)
		}
		if message := log.String(); !strings.Contains(message, "planted at "+where) || !strings.Contains(message, "panic_test.go") {
			t.Errorf("a bug at %s: the log has not where: %s", where, message)
		}
	}
	n.at = "status"
	_, err := c.About(t.Context())
	failed("status", err)
	if _, err := c.About(t.Context()); err != nil {
		t.Errorf("after a bug: %v", err)
	}
	n.at = "checkpoint"
	failed("checkpoint", c.Checkpoint(t.Context(), 1, "verify-1/copies/partition-1"))
	if err := c.Checkpoint(t.Context(), 1, "verify-1/copies/partition-1"); err != nil {
		t.Errorf("after a bug: %v", err)
	}
	n.at = "snapshot"
	var got []Event
	err = c.Snapshots(t.Context(), SnapshotsRequest{Partitions: []int32{3, 1}}, func(e Event) error {
		if e.Progress == nil {
			got = append(got, e)
		}
		return nil
	})
	if err != nil || len(got) != 2 || got[0].Error != httpguard.Answer || got[1].Taken == nil {
		t.Errorf("a bug at one of two snapshots: %v, %+v", err, got)
	}
	if message := log.String(); !strings.Contains(message, "planted at snapshot") {
		t.Errorf("the log has not the bug at snapshot: %s", message)
	}
	if res, err := http.Get(s.URL + PathPartitions); err != nil { //nolint:noctx // a test's own server
		t.Error(err)
	} else if res.Body.Close(); res.StatusCode != http.StatusOK {
		t.Errorf("in the end: %d", res.StatusCode)
	}
}

// Of a call that fails on a bug, the caller gets the id by which the log has it.
func TestPanicIsFoundByItsRequest(t *testing.T) {
	var out testkit.Output
	log, err := obs.NewLogger(&out, obs.FormatText, "info")
	if err != nil {
		t.Fatal(err)
	}
	h := Handler(Config{Node: &buggy{at: "snapshot"}, DataDir: t.TempDir(), Snapshots: "file:///b", Logger: log})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set(obs.RequestIDHeader, "r-7")
		h.ServeHTTP(w, obs.WithRequestID(w, r))
	}))
	defer s.Close()
	message := ""
	err = (&Client{URL: s.URL}).Snapshots(t.Context(), SnapshotsRequest{Partitions: []int32{3}}, func(e Event) error {
		message += e.Error
		return nil
	})
	if err != nil || message != httpguard.Answer+" (request_id r-7)" || !strings.Contains(out.String(), "request_id=r-7") {
		t.Errorf("%v, %q\n%s", err, message, &out)
	}
}
