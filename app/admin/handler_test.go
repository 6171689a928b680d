package admin

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// node owns partitions 1 (live), 2 (opening) and 3 (live, empty).
type node struct {
	took []int32
	full bool
	// If entered is set, Snapshot closes it, waits until its context is done, and closes left.
	entered, left chan struct{}
}

func (n *node) Status() []processor.PartitionStatus {
	return []processor.PartitionStatus{
		{Partition: 1, State: processor.StateLive, Position: projections.Position{7, 1, 0}}, {Partition: 2}, {Partition: 3, State: processor.StateLive},
	}
}

func (n *node) Checkpoint(partition int32, dir string) error {
	if partition != 1 {
		return processor.ErrOpening
	}
	return os.Mkdir(dir, 0o755)
}

func (n *node) Snapshot(ctx context.Context, partition int32, o snapshot.CreateOptions) (*snapshot.Manifest, snapshot.Stats, error) {
	n.took, n.full = append(n.took, partition), o.Full
	if n.entered != nil {
		close(n.entered)
		defer close(n.left)
		<-ctx.Done()
		return nil, snapshot.Stats{}, ctx.Err()
	}
	switch partition {
	case 1:
		o.Report(snapshot.Progress{Phase: snapshot.PhaseUpload, Done: 1, Total: 2})
		return &snapshot.Manifest{Partition: 1, Digest: "d"}, snapshot.Stats{Files: 4, UploadedBytes: 5}, nil
	case 3:
		return nil, snapshot.Stats{}, projections.ErrEmpty
	case 4:
		return &snapshot.Manifest{Partition: 4}, snapshot.Stats{}, snapshot.ErrUnchanged
	}
	return nil, snapshot.Stats{}, processor.ErrOpening
}

func serve(t *testing.T, n *node, change func(*Config)) (*Client, string) {
	t.Helper()
	c := Config{Node: n, DataDir: t.TempDir(), Snapshots: "file:///b", Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&c)
	}
	s := httptest.NewServer(Handler(c))
	t.Cleanup(s.Close)
	return &Client{URL: s.URL}, c.DataDir
}

func TestANodeSaysWhatItHas(t *testing.T) {
	c, dir := serve(t, &node{}, nil)
	about, err := c.About(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if about.DataDir != dir || about.Snapshots != "file:///b" || len(about.Partitions) != 3 || !about.Partitions[0].Live || about.Partitions[1].Live ||
		about.Partitions[0].Position != (projections.Position{7, 1, 0}) || !strings.HasPrefix(about.Partitions[1].Status, "partition 2 opening") {
		t.Errorf("%+v", about)
	}
}

// The node makes a copy only in the folders of verify.
func TestACopyIsMadeWhereVerifyWorks(t *testing.T) {
	c, dir := serve(t, &node{}, nil)
	if err := os.MkdirAll(filepath.Join(dir, "verify-1x", "copies"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.Checkpoint(t.Context(), 1, "verify-1x/copies/partition-1"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "verify-1x", "copies", "partition-1")); err != nil {
		t.Error(err)
	}
	for _, w := range []struct {
		partition int32
		dir, want string
	}{
		{1, "verify-1x/copies/partition-2", "is not a place for a copy of partition 1"},
		{1, "../verify-1x/copies/partition-1", "is not a place"},
		{1, "verify-1x/../partition-1", "is not a place"},
		{1, "/tmp/partition-1", "is not a place"},
		{1, "partition-1", "is not a place"},
		{1, "", "is not a place"},
		{1, "verify-2/copies/partition-1", "a store is verified where its node runs"},
		{2, "verify-1x/copies/partition-2", "partition 2: the partition is being opened on this node"},
	} {
		if err := c.Checkpoint(t.Context(), w.partition, w.dir); err == nil || !strings.Contains(err.Error(), w.want) {
			t.Errorf("%d in %q: %v, want %q", w.partition, w.dir, err, w.want)
		}
	}
}

func TestSnapshotsTellHowTheyGo(t *testing.T) {
	n := &node{}
	c, _ := serve(t, n, nil)
	var got []Event
	take := func(q SnapshotsRequest) error {
		n.took, got = nil, nil
		return c.Snapshots(t.Context(), q, func(e Event) error { got = append(got, e); return nil })
	}
	if err := take(SnapshotsRequest{}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(n.took, []int32{1, 2, 3}) || n.full || len(got) != 4 || got[0].Progress == nil || got[0].Progress.Total != 2 ||
		got[1].Taken == nil || got[1].Taken.Manifest.Digest != "d" || got[1].Taken.Stats.UploadedBytes != 5 ||
		!strings.Contains(got[2].Error, "is being opened") || got[3].Taken == nil || !got[3].Taken.Empty {
		t.Errorf("took %v (full: %t): %+v", n.took, n.full, got)
	}
	if err := take(SnapshotsRequest{Partitions: []int32{4}, Full: true}); err != nil || !n.full || len(got) != 1 || !got[0].Taken.Unchanged {
		t.Errorf("%v: took %v (full: %t): %+v", err, n.took, n.full, got)
	}
	stop := errors.New("enough")
	if err := c.Snapshots(t.Context(), SnapshotsRequest{}, func(Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the caller's own error: %v", err)
	}
	none, _ := serve(t, n, func(c *Config) { c.Snapshots = "" })
	if err := none.Snapshots(t.Context(), SnapshotsRequest{}, nil); err == nil || !strings.Contains(err.Error(), "start it with --snapshots") {
		t.Errorf("a node without snapshots: %v", err)
	}
}

// A node that stops ends its snapshots, and its answer does not report completion.
func TestANodeThatStopsBreaksOff(t *testing.T) {
	stopping, stop := context.WithCancel(context.Background())
	n := &node{entered: make(chan struct{}), left: make(chan struct{})}
	c, _ := serve(t, n, func(c *Config) { c.Stopping = stopping })
	go func() {
		<-n.entered
		stop()
	}()
	err := c.Snapshots(t.Context(), SnapshotsRequest{Partitions: []int32{1, 3}}, func(Event) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "ended early") {
		t.Errorf("%v", err)
	}
	<-n.left
	if !slices.Equal(n.took, []int32{1}) {
		t.Errorf("after the stop it went on with %v", n.took)
	}
}

func TestOnlyThoseWhoRunTheNodeMayAsk(t *testing.T) {
	n := &node{}
	c, _ := serve(t, n, func(c *Config) { c.Verifier = authtest.Verifier(t) })
	for _, w := range []struct{ name, token, want string }{
		{"no token", "", "no token"}, {"a wrong token", "nonsense", "the token is not valid"},
		{"a user's", authtest.Token(t, "ann", time.Hour), "needs the scope admin"},
		{"of all other scopes", authtest.Scoped(t, "ann", "read publish erase"), "needs the scope admin"},
	} {
		c.Token = w.token
		if _, err := c.About(t.Context()); err == nil || !strings.Contains(err.Error(), w.want) {
			t.Errorf("%s: %v, want %q", w.name, err, w.want)
		}
		if err := c.Snapshots(t.Context(), SnapshotsRequest{}, nil); err == nil || !strings.Contains(err.Error(), w.want) {
			t.Errorf("%s: %v, want %q", w.name, err, w.want)
		}
	}
	c.Token = authtest.Scoped(t, "operator", "admin")
	if _, err := c.About(t.Context()); err != nil {
		t.Error(err)
	}
	c.Token = authtest.Service(t)
	if _, err := c.About(t.Context()); err != nil {
		t.Error(err)
	}
	if len(n.took) > 0 {
		t.Errorf("snapshots of %v were taken", n.took)
	}
}

// The page of another site can send a form but not JSON, and its own name is refused even if it
// resolves to this node.
func TestNoPageOfAnotherSiteCanAsk(t *testing.T) {
	n := &node{}
	c, _ := serve(t, n, nil)
	for _, w := range []struct {
		name, host, origin, media, body string
		want                            int
	}{
		{"a form", "", "", "text/plain", "{}", http.StatusUnsupportedMediaType},
		{"nothing said", "", "", "", "{}", http.StatusUnsupportedMediaType},
		{"a name", "evil.example", "", "application/json", "{}", http.StatusForbidden},
		{"another site", "", "https://evil.example", "application/json", "{}", http.StatusForbidden},
		{"a field that is not there", "", "", "application/json", `{"all":true}`, http.StatusBadRequest},
		{"localhost", "localhost:1", "", "application/json; charset=utf-8", `{"partitions":[3]}`, http.StatusOK},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.URL+PathSnapshots, strings.NewReader(w.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = w.host
		r.Header.Set("Content-Type", w.media)
		if w.origin != "" {
			r.Header.Set("Origin", w.origin)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil || res.StatusCode != w.want {
			t.Errorf("%s: %d, %v; want %d", w.name, res.StatusCode, err, w.want)
		}
	}
	if !slices.Equal(n.took, []int32{3}) {
		t.Errorf("snapshots of %v were taken", n.took)
	}
}

func TestACallerIsToldWhatAnswers(t *testing.T) {
	for _, w := range []struct {
		name string
		h    http.HandlerFunc
		want string
	}{
		{"something else", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }, "is it a node, and of this version?"},
		{"a node without stores", func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, http.StatusNotFound, "unimplemented", "there is no method")
		}, "name a node with the role processor"},
		{"nonsense", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "cannot be read"},
	} {
		s := httptest.NewServer(w.h)
		if _, err := (&Client{URL: s.URL + "/"}).About(t.Context()); err == nil || !strings.Contains(err.Error(), w.want) {
			t.Errorf("%s: %v, want %q", w.name, err, w.want)
		}
		s.Close()
		if _, err := (&Client{URL: s.URL}).About(t.Context()); err == nil || !strings.Contains(err.Error(), "no node answers at") {
			t.Errorf("nobody: %v", err)
		}
	}
}
