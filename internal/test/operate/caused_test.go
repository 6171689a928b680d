package operate

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/snapshot"
)

// Each fault of a running node makes its own alerts fire, and no others. The node's metrics before
// and after the fault become the series on which promtool evaluates the rules.
func TestWhatGoesWrongFiresItsAlert(t *testing.T) {
	testkit.Program(t, "promtool")
	s := newSite(t, 1)
	server := testkit.Miniredis(t)
	dir := filepath.Join(t.TempDir(), "bucket")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	bucket, err := snapshot.OpenBucket("file://" + filepath.ToSlash(dir))
	if err != nil {
		t.Fatal(err)
	}
	url := s.node("redis://"+server.Addr(), func(c *node.Config) {
		c.Snapshots, c.SnapshotEvery = snapshot.New(bucket, snapshot.Options{}), 200*time.Millisecond
	}, config.RoleProcessor, config.RoleCache, config.RoleQuery)
	s.ready(url)
	post := func(channel string, n int, at time.Time, more string) {
		s.send(events.TopicMessages, channel,
			fmt.Sprintf(`{"channel_id":%q,"message_posted":{"message_id":"m%d","sender_id":"ann","preview":"hi"}%s}`, channel, n, more), at)
	}
	s.send(events.TopicMessages, "team", `{"channel_id":"team","members_joined":{"user_ids":["ann","bob"]}}`, time.Now())
	post("team", 0, time.Now(), "")
	s.await(url, "tidemark_processor_snapshot_age_seconds", "tidemark_processor_store_bytes", "tidemark_cache_lag_records")
	s.reaches(url, "tidemark_cache_complete{}")
	const age, interval = `tidemark_processor_snapshot_age_seconds{partition="0"}`, "tidemark_processor_snapshot_interval_seconds{}"
	var before map[string]float64
	s.until(func() error {
		if before = s.series(url); before[age] > before[interval] {
			return fmt.Errorf("the snapshot is %v s old", before[age])
		}
		return nil
	})
	s.fires(before, before) // without a fault nothing fires

	// One bad record, and one of a clock that is an hour ahead.
	s.send(events.TopicMessages, "team", `{"channel_id":7}`, time.Now())
	post("team", 1, time.Now(), fmt.Sprintf(`,"occurred_at":%q`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339)))
	after := s.awaitChange(url, before, "tidemark_processor_dead_letters_total", "tidemark_processor_clock_replaced_total")
	const snapshots = "tidemark_processor_snapshot" // a slow machine makes them late, too
	s.fires(without(before, snapshots), without(after, snapshots), "TidemarkClock", "TidemarkDeadLetters")

	// The bucket is gone, and a file is in its place.
	before = s.series(url)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	post("team", 2, time.Now(), "") // so that a cut has something to write
	s.awaitChange(url, before, `tidemark_processor_snapshots_total{outcome="failed"}`)
	after = s.grown(url, before, age, 3*before[interval])
	s.fires(before, after, "TidemarkSnapshotFailed", "TidemarkSnapshotOld")

	// Redis goes away. The alerts about the bucket, which is still gone, are left out from here on.
	before = s.series(url)
	server.Close()
	post("team", 3, time.Now(), "")
	after = s.awaitChange(url, before, `tidemark_redis_errors_total{role="cache"}`)
	s.fires(without(before, snapshots), without(after, snapshots), "TidemarkRedisErrors")

	// A producer of an hour ago writes nothing but bad records, so the breaker stops the partition.
	before = s.series(url)
	old := time.Now().Add(-time.Hour)
	for range 400 {
		s.send(events.TopicMessages, "team", `{"channel_id":7}`, old)
	}
	after = s.awaitChange(url, before, `tidemark_processor_partition_state{partition="0",state="failed"}`, `tidemark_state_code{code="TM014"}`)
	for _, prefix := range []string{snapshots, "tidemark_redis_"} {
		before, after = without(before, prefix), without(after, prefix)
	}
	s.fires(before, after, "TidemarkDeadLetters", "TidemarkFoldBehind", "TidemarkNotReady", "TidemarkPartitionFailed")
}

// without removes the series whose names begin with prefix.
func without(all map[string]float64, prefix string) map[string]float64 {
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(name string, _ float64) bool { return strings.HasPrefix(name, prefix) })
	return some
}

// awaitChange waits until the series of all these names are larger than before, and returns all
// series of that moment.
func (s *site) awaitChange(url string, before map[string]float64, names ...string) (after map[string]float64) {
	s.t.Helper()
	s.until(func() error {
		after = s.series(url)
		for _, name := range names {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(after)), func(k string) bool {
				return strings.HasPrefix(k, name) && after[k] > before[k]
			}) {
				return fmt.Errorf("%s does not grow", name)
			}
		}
		return nil
	})
	return after
}

// reaches waits until a series is 1.
func (s *site) reaches(url, series string) {
	s.t.Helper()
	s.until(func() error {
		if n, ok := s.series(url)[series]; n != 1 {
			return fmt.Errorf("%s is %v (exported: %t), want 1", series, n, ok)
		}
		return nil
	})
}

// fires evaluates the rules with promtool, on series with the values of before for 20 minutes and
// the values of after from then on. It fails unless exactly the alerts in want fire.
func (s *site) fires(before, after map[string]float64, want ...string) {
	s.t.Helper()
	s.firesOver([]map[string]float64{before, after}, want...)
}

// firesOver is fires for a list of scrapes, one a minute. The values of the first last for 20
// minutes, and those of the last for 40.
func (s *site) firesOver(scrapes []map[string]float64, want ...string) {
	s.t.Helper()
	abs, err := filepath.Abs(rulesFile)
	if err != nil {
		s.t.Fatal(err)
	}
	names := map[string]bool{}
	for _, scrape := range scrapes {
		for series := range scrape {
			names[series] = true
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "rule_files: [%q]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n", abs)
	for _, series := range slices.Sorted(maps.Keys(names)) {
		var values strings.Builder
		for i, scrape := range scrapes {
			times := 0
			switch i {
			case 0:
				times = 20
			case len(scrapes) - 1:
				times = 40
			}
			if n, ok := scrape[series]; ok {
				fmt.Fprintf(&values, " %gx%d", n, times)
			} else {
				fmt.Fprintf(&values, " _x%d", times+1) // of no value this is the number, of others that of its repetitions
			}
		}
		labelled := strings.Replace(strings.Replace(series, "{", `{job="tidemark",instance="a",`, 1), ",}", "}", 1)
		fmt.Fprintf(&b, "      - {series: '%s', values: '%s'}\n", strings.ReplaceAll(labelled, "'", "''"), values.String()[1:])
	}
	// An alert on an increase ends after its window, an alert on a state lasts. So an alert counts
	// if it fired at any time.
	b.WriteString("    promql_expr_test:\n      - expr: group by (alertname) (last_over_time(ALERTS{alertstate=\"firing\"}[2h]))\n        eval_time: 58m\n")
	if len(want) == 0 {
		b.WriteString("        exp_samples: []\n")
	} else {
		b.WriteString("        exp_samples:\n")
		for _, name := range want {
			fmt.Fprintf(&b, "          - {labels: '{alertname=%q}', value: 1}\n", name)
		}
	}
	file := filepath.Join(s.t.TempDir(), "caused.yml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		s.t.Fatal(err)
	}
	promtool(s.t, filepath.Dir(file), "test", "rules", file)
}
