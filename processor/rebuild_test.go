package processor

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/rebuild"
	"github.com/tidemark/tidemark/projections"
)

// rebuild runs Rebuild on a site, into a directory of the test.
func (s *site) rebuild(dir string, change func(*RebuildConfig)) []Rebuilt {
	s.t.Helper()
	c := RebuildConfig{Config: s.config(dir)}
	c.Group = ""
	if change != nil {
		change(&c)
	}
	list, err := Rebuild(context.Background(), c)
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// TestRebuildEqualsTheLiveState: Rebuild fills an empty directory up to the positions of stores
// that stopped amid the log, and resumes from there to its end.
func TestRebuildEqualsTheLiveState(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		const n = rebuild.Clients + 2 // so some share a client
		s := newSite(t, env.Brokers, n)
		tr := newTraffic(s, seed, 20)
		tr.run(1500)
		live := t.TempDir()
		m := s.start(s.config(live)).ready(n)
		s.caughtUp(m)
		m.stop()
		want := s.digests(s.config(""), live)
		middle := map[int32]projections.Position{}
		for p, end := range s.ends() {
			middle[int32(p)] = end
		}
		tr.run(500)

		dir := t.TempDir()
		var last RebuildProgress
		for _, r := range s.rebuild(dir, func(c *RebuildConfig) {
			c.Until, c.Parallel, c.Report = middle, 3, func(p RebuildProgress) { last = p }
		}) {
			if r.Err != nil || r.Digest != want[r.Partition] || r.Until != middle[r.Partition] || r.From != (projections.Position{}) {
				t.Errorf("partition %d: %+v, want digest %x at %v", r.Partition, r, want[r.Partition], middle[r.Partition])
			}
		}
		if last.Partitions != n || last.Finished != n || last.Done != last.Total || last.Total == 0 || last.Rate <= 0 {
			t.Errorf("the last report is %+v", last)
		}
		for _, r := range s.rebuild(dir, func(c *RebuildConfig) { c.Resume, c.QueueBytes = true, 1 }) {
			if r.Err != nil || r.From != middle[r.Partition] {
				t.Errorf("resumed: %+v, want it to begin at %v", r, middle[r.Partition])
			}
		}
		want, _ = s.replay()
		for p, got := range s.digests(s.config(""), dir) {
			if got != want[p] {
				t.Errorf("partition %d has digest %x at the end of the log, a live node %x", p, got, want[p])
			}
		}
	})
}

func TestRebuildOfSomePartitions(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 3)
	newTraffic(s, 1, 20)
	dir := t.TempDir()
	list := s.rebuild(dir, func(c *RebuildConfig) { c.Partitions = []int32{2} })
	if len(list) != 1 || list[0].Partition != 2 || list[0].Err != nil || list[0].Dir != StoreDir(dir, 2) {
		t.Fatalf("%+v", list)
	}
	if stores, err := Stores(dir); err != nil || len(stores) != 1 {
		t.Errorf("stores %v, %v", stores, err)
	}
}

// TestRebuildRefusals: a rebuild refuses to return a state that does not cover the whole log, and
// the other partitions continue.
func TestRebuildRefusals(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 2)
	own := events.PartitionOf([]byte("general"), 2)
	s.join("general", "alice")
	s.post("general", "m1", "alice")
	dir := t.TempDir()
	s.rebuild(dir, nil)

	refused := func(what, text string, change func(*RebuildConfig)) {
		t.Helper()
		c := RebuildConfig{Config: s.config(t.TempDir()), Parallel: 1} // a refused partition must not block the next one
		change(&c)
		list, err := Rebuild(context.Background(), c)
		if err == nil && len(list) != 2 {
			t.Errorf("%s: %d partitions are in the result", what, len(list))
		}
		for _, r := range list {
			if r.Partition == own {
				err = errors.Join(err, r.Err)
			} else if r.Err != nil {
				t.Errorf("%s: partition %d: %v", what, r.Partition, r.Err)
			}
		}
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %q", what, err, text)
		}
	}
	refused("a store is there", "is there already", func(c *RebuildConfig) { c.DataDir = dir })
	refused("no such partition", "there is no partition 7", func(c *RebuildConfig) { c.Partitions = []int32{7} })
	refused("beyond the end", "the log ends at offset 2 and it is to be folded up to 5", func(c *RebuildConfig) {
		c.Until = map[int32]projections.Position{own: {5, 0, 0}}
	})
	refused("the store is beyond", "beyond 1 where this rebuild is to end", func(c *RebuildConfig) {
		c.DataDir, c.Resume, c.Until = dir, true, map[int32]projections.Position{own: {1, 0, 0}}
	})
	refused("other settings", "was folded with", func(c *RebuildConfig) {
		c.DataDir, c.Resume, c.Settings.FanoutLimit = dir, true, 7
	})
	trim := kadm.Offsets{}
	trim.Add(kadm.Offset{Topic: s.names().Inputs[0], Partition: own, At: 1})
	if _, err := testkit.Admin(t, s.brokers).DeleteRecords(t.Context(), trim); err != nil {
		t.Fatal(err)
	}
	refused("trimmed", "the log begins at offset 1: records 0 to 0 are gone", func(*RebuildConfig) {})
	for _, r := range s.rebuild(t.TempDir(), func(c *RebuildConfig) { c.AcceptGap = true }) {
		if r.Err != nil || r.Partition == own && (r.From != projections.Position{1, 0, 0} || r.Until != projections.Position{2, 0, 0}) {
			t.Errorf("a gap that is accepted: %+v", r)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Rebuild(ctx, RebuildConfig{Config: s.config(t.TempDir())}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
