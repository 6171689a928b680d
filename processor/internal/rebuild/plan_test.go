package rebuild

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/private"
	"github.com/tidemark/tidemark/processor/internal/home"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/processor/internal/steps"
	"github.com/tidemark/tidemark/projections"
)

// of returns a rebuild of some partitions that has sent no requests yet.
func of(t *testing.T, dir string, numbers ...int32) *rebuild {
	t.Helper()
	r, err := newRebuild(Config{Config: setup.Config{Brokers: []string{"127.0.0.1:1"}, DataDir: dir, Settings: projections.DefaultSettings()}, Partitions: numbers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeFeeders(r.feeders) })
	r.numbers = numbers
	return r
}

// A store continues from its position if the log still has the next records and does not end before
// the position.
func TestResume(t *testing.T) {
	r := of(t, t.TempDir(), 0)
	plan := opening.Plan{From: projections.Position{10, 10, 10}, Until: projections.Position{50, 50, 50}, LogTruncated: true}
	for _, c := range []struct {
		at   projections.Position
		want string
	}{
		{projections.Position{10, 50, 30}, ""},
		{projections.Position{9, 50, 30}, "/0: the log begins at offset 10, and the store at 9"},
		{projections.Position{10, 50, 51}, "/0: the store is at offset 51, beyond 50"},
	} {
		var w steps.Worker
		w.StoredAt = c.at
		got, err := r.resume(&w, plan)
		switch {
		case c.want == "" && (err != nil || got.From != c.at || got.Until != plan.Until || got.LogTruncated):
			t.Errorf("a store at %v: %+v, %v", c.at, got, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("a store at %v: %v, want %q", c.at, err, c.want)
		}
	}
}

// The error about a log without its first records names the log and the ways out.
func TestGap(t *testing.T) {
	r := of(t, t.TempDir(), 0)
	err := r.gap(7, opening.Plan{From: projections.Position{0, 12, 0}})
	for _, want := range []string{r.cfg.Topics.Inputs[1] + "/7", "records 0 to 11 are gone", "a snapshot that is at 12 or later", "--accept-gap"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	if err := r.gap(7, opening.Plan{}); err != nil {
		t.Errorf("a whole log: %v", err)
	}
}

// A rebuild begins with empty stores, unless it resumes.
func TestFresh(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if err := of(t, dir, 0, 1).fresh(); err != nil {
		t.Fatal(err)
	}
	if err := private.MkdirAll(home.Dir(dir, 1)); err != nil {
		t.Fatal(err)
	}
	if err := of(t, dir, 0, 1).fresh(); err == nil || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("with the store of partition 1: %v", err)
	}
	if err := of(t, dir, 0).fresh(); err != nil {
		t.Errorf("with the store of another partition: %v", err)
	}
	r := of(t, dir, 0, 1)
	r.c.Resume = true
	if err := r.fresh(); err != nil {
		t.Errorf("resuming: %v", err)
	}
}
