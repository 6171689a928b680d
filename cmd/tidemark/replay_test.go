package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/projections"
)

func TestReplayAndSwap(t *testing.T) {
	s := newSite(t, embedded(t), 2)
	s.folded(story)
	before, err := projections.Inspect(s.store(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.tamper("ann", 3)
	r := s.verb("replay")
	if r.code != exitDone {
		t.Fatalf("%+v", r)
	}
	golden(t, "../verbs/replay", s.same(r.out))
	if !strings.Contains(r.errout, "replay: 100.0%, 5 of 5 records") {
		t.Errorf("progress: %q", r.errout)
	}
	if r := s.verb("replay"); r.code != exitFailed || !strings.Contains(r.errout, "is there already") {
		t.Errorf("again, into what is there: %+v", r)
	}
	url, stop := s.run()
	awaitReady(t, url) // so that its stores are in use
	if r := s.verb("replay", "--resume", "--swap", "--yes"); r.code != exitFailed || !strings.Contains(r.errout, "is in use: stop the node first") {
		t.Errorf("while the node runs: %+v", r)
	}
	if out := ok(t, "", "query", "unread", "ann", "general", "--addr", url); !strings.Contains(out, "last read       m3") {
		t.Errorf("the node has another state than was planted:\n%s", out)
	}
	stop()
	r = s.verb("replay", "--resume", "--swap", "--yes")
	if r.code != exitDone {
		t.Fatalf("%+v", r)
	}
	golden(t, "../verbs/replay-swap", s.same(r.out))
	after, err := projections.Inspect(s.store(), nil)
	if err != nil || after.Digest != before.Digest || after.Position != before.Position {
		t.Errorf("swapped in: %+v, %v; want what the node had, %+v", after, err, before)
	}
	url, stop = s.run()
	awaitReady(t, url)
	stop()
}

// TestReplayLeavesToTheNodeWhatNobodyWasTold: events come in while no node runs, stores are rebuilt
// and swapped in, and the node that starts then tells what these events change. A store that held
// them already would never be told to anybody.
func TestReplayLeavesToTheNodeWhatNobodyWasTold(t *testing.T) {
	s := newSite(t, embedded(t), 2)
	s.folded(story)
	at, err := projections.InspectHeader(s.store(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ok(t, postLine("m4", "said while no node ran"), "emit", "--brokers", s.broker)
	if r := s.verb("replay", "--swap", "--yes"); r.code != exitDone {
		t.Fatalf("%+v", r)
	}
	if now, err := projections.InspectHeader(s.store(), nil); err != nil || now.Position != at.Position {
		t.Fatalf("the store that was swapped in is at %v (%v), the group has published up to %v", now.Position, err, at.Position)
	}

	// A store that was folded to the end of the logs is not swapped in, nor one of a group that has
	// published nothing.
	beyond := filepath.Join(t.TempDir(), "beyond")
	if r := s.verb("replay", "--group", "nobody", "--into", beyond); r.code != exitDone {
		t.Fatalf("%+v", r)
	}
	if r := s.verb("replay", "--resume", "--swap", "--yes", "--into", beyond); r.code != exitFailed || !strings.Contains(r.errout, "would never be published") {
		t.Errorf("a store that is further than what was published: %+v", r)
	}
	if r := s.verb("replay", "--group", "nobody", "--swap", "--yes", "--into", filepath.Join(t.TempDir(), "x")); r.code != exitFailed ||
		!strings.Contains(r.errout, "has published nothing of it") {
		t.Errorf("of a group that has published nothing: %+v", r)
	}

	url, stop := s.run()
	defer stop()
	awaitReady(t, url)
	rdb := s.rdb()
	defer rdb.Close()
	for deadline := time.Now().Add(2 * time.Minute); !strings.Contains(rdb.HGet(t.Context(), "inbox:ann", "general").Val(), `"latest_seq":4`); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) { // nothing is judged by it
			t.Fatalf("Redis is never told of m4: %s", rdb.HGet(t.Context(), "inbox:ann", "general").Val())
		}
	}
}

func TestReplayFailsInWords(t *testing.T) {
	s := newSite(t, embedded(t), 2)
	if r := s.verb("replay", "--into", s.data); r.code != exitUsage || !strings.Contains(r.errout, "same directory") {
		t.Errorf("into the node's own: %+v", r)
	}
	if r := s.verb("replay", "--partition", "9"); r.code != exitFailed || !strings.Contains(r.errout, "there is no partition 9") {
		t.Errorf("no such partition: %+v", r)
	}
	if r := s.verb("verify", "--no-redis"); r.code != exitFailed || r.errout == "" {
		t.Errorf("verify of nothing: %+v", r)
	}
}

// TestReplayWithOtherSettings: what the node would refuse is not rebuilt to be swapped in. Beside
// the stores it may be.
func TestReplayWithOtherSettings(t *testing.T) {
	s := newSite(t, embedded(t), 2)
	s.folded(story)
	if r := s.verb("replay", "--swap", "--yes", "--receipt-limit", "7"); r.code != exitFailed || !strings.Contains(r.errout, "nothing was rebuilt or swapped in") {
		t.Errorf("swapped in: %+v", r)
	}
	if r := s.verb("replay", "--receipt-limit", "7"); r.code != exitDone {
		t.Errorf("beside the stores: %+v", r)
	}
}
