package operate

import (
	"cmp"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/importer/bridge"
	"github.com/tidemark/tidemark/importer/compare"
	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/obs/codes"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/sqlsink"
)

// known are the values of a metric's labels that are known before anything happens. The metric has
// a series for each combination, unless series is set.
type known struct {
	values map[string][]string
	series int
}

// listed returns the metrics with labels of a process with these topics, except those by partition.
func listed(topic func(string) string) map[string]known {
	of := func(label string, values ...string) known { return known{values: map[string][]string{label: values}} }
	var inputs, kinds, reasons, letters, refusals, calls, unary []string
	for _, name := range events.InputTopics {
		inputs = append(inputs, topic(name))
	}
	for k := events.KindNone + 1; k < events.NumKinds; k++ {
		kinds = append(kinds, k.String())
	}
	for _, r := range append([]events.Reason{"skipped"}, events.LetterReasons...) {
		reasons, letters = append(reasons, string(r)), append(letters, codes.OfLetter(string(r)))
	}
	for _, c := range codes.All() {
		if !c.Letter() {
			refusals = append(refusals, c.ID)
		}
	}
	for _, file := range []protoreflect.FileDescriptor{queryv1.File_tidemark_query_v1_query_proto, ingestv1.File_tidemark_ingest_v1_ingest_proto} {
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				calls = append(calls, string(methods.Get(j).Name()))
				if !methods.Get(j).IsStreamingServer() {
					unary = append(unary, string(methods.Get(j).Name()))
				}
			}
		}
	}
	var buckets []string
	for _, b := range compare.Buckets {
		buckets = append(buckets, string(b))
	}
	return map[string]known{
		"tidemark_processor_clock_replaced_total":   of("topic", inputs...),
		"tidemark_processor_dead_letters_total":     {map[string][]string{"topic": inputs, "reason": reasons, "code": letters}, len(inputs) * len(reasons)},
		"tidemark_processor_events_total":           {map[string][]string{"topic": inputs, "kind": kinds, "outcome": nil}, len(kinds) * int(projections.NumOutcomes)},
		"tidemark_processor_partitions_moved_total": of("how", "assigned", "revoked", "lost"),
		"tidemark_processor_phase_seconds":          of("phase"),
		"tidemark_processor_publish_refused_total":  of("topic", topic(events.TopicUnread), topic(events.TopicChannels), topic(events.TopicReceipts), topic(events.TopicDeadLetters)),
		"tidemark_processor_restores_total":         of("outcome", "done", "failed"),
		"tidemark_processor_snapshots_total":        of("outcome", "done", "unchanged", "refused", "failed"),
		"tidemark_query_calls_total": {values: map[string][]string{"method": calls, "code": {"ok", "canceled", "deadline_exceeded", "internal", "invalid_argument",
			"not_found", "permission_denied", "resource_exhausted", "unauthenticated", "unavailable", "unknown"}}},
		"tidemark_query_refused_total":      of("reason"),
		"tidemark_query_seconds":            of("method", unary...),
		"tidemark_gateway_closed_total":     of("code", "1003", "1012", "1013", "4401", "4408", "4429"),
		"tidemark_gateway_handshakes_total": of("result", "accepted", "full", "failed", "400", "401", "403", "429", "503", "1013", "4401", "4429"),
		"tidemark_gateway_shown_total":      of("outcome", "equal", "different", "unknown"),
		"tidemark_cache_deltas_total":       of("result", "applied", "stale", "skipped", "left-out", "coalesced", "bad"),
		"tidemark_cache_rebuilds_total":     of("reason", "empty", "epoch", "topics", "format"),
		"tidemark_sql_rebuilds_total":       of("reason"),
		"tidemark_sql_records_total":        of("result", "written", "coalesced", "skipped", "bad"),
		"tidemark_redis_errors_total":       of("role"),
		"tidemark_redis_seconds":            of("role"),
		"tidemark_bridge_records_total":     of("topic", events.Messages.String(), events.Reads.String()),
		"tidemark_compare_pairs":            of("bucket", buckets...),
		"tidemark_compare_pairs_total":      of("bucket", buckets...),
		"tidemark_http_refused_total":       of("reason", "connections", "host"),
		"tidemark_audit_lines_total":        of("kind", string(audit.Erasure), string(audit.Admin), string(audit.Publish), string(audit.Refusal)),
		"tidemark_badge_checked_total":      of("outcome", "equal", "different", "unknown"),
		"tidemark_state_code":               of("code", refusals...),
		"tidemark_trace_spans_total":        of("outcome", "sent", "lost"),
		"tidemark_memory_share_bytes":       of("share", "limit", "heap", "hot", "cache", "queue"),
	}
}

// TestSeriesExistFromTheFirstScrape: the first scrape of a process of any role has every series
// whose label values are known up front. An alert on the increase of a series that begins with its
// first event misses that event.
func TestSeriesExistFromTheFirstScrape(t *testing.T) {
	s := newSite(t, 2)
	redisURL := "redis://" + testkit.Miniredis(t).Addr()
	log, err := audit.Open(filepath.Join(t.TempDir(), "audit.log"), io.Discard, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	database, err := sqlsink.ParseAddress("postgres://tidemark@127.0.0.1:1/none", "")
	if err != nil {
		t.Fatal(err)
	}
	// A role registers its metrics when it starts, which may be after the node listens.
	first := map[string]map[string]*dto.MetricFamily{
		"node": s.await(s.node(redisURL, func(c *node.Config) {
			c.Audit, c.CheckChannels, c.Traces.Endpoint = log, 10, "http://127.0.0.1:1"
		}, config.RoleProcessor, config.RoleCache, config.RoleQuery, config.RoleGateway), "tidemark_processor_partitions_moved_total"),
		"sql":     s.await(s.node(redisURL, func(c *node.Config) { c.SQL = database }, config.RoleSQL), "tidemark_sql_records_total"),
		"gateway": s.await(s.node(redisURL, func(c *node.Config) { c.Memory = 0 }, config.RoleQuery, config.RoleGateway), "tidemark_gateway_closed_total"),
		"bridge":  verbMetrics(t, func(r prometheus.Registerer) { bridge.New(bridge.Config{Metrics: r}) }),
		"compare": verbMetrics(t, func(r prometheus.Registerer) { compare.NewMetrics(r) }),
	}
	all, met := listed(s.topics.Name), map[string]bool{}
	for process, families := range first {
		for name, f := range families {
			have := map[string]map[string]bool{}
			for _, m := range f.Metric {
				for _, l := range m.Label {
					if have[l.GetName()] == nil {
						have[l.GetName()] = map[string]bool{}
					}
					have[l.GetName()][l.GetValue()] = true
				}
			}
			delete(have, "listener")
			if !strings.HasPrefix(name, "tidemark_") || len(have) == 0 || name == "tidemark_build_info" || have["partition"] != nil || isKafka(name) {
				continue
			}
			met[name] = true
			k, is := all[name]
			if !is {
				t.Errorf("%s of %s has labels: list their known values here", name, process)
				continue
			}
			series := 1
			for label, values := range k.values {
				got := slices.Sorted(maps.Keys(have[label]))
				if values == nil {
					values = got
				}
				series *= len(values)
				want := slices.Compact(slices.Sorted(slices.Values(values)))
				if !slices.Equal(got, want) {
					t.Errorf("%s of %s, label %s, begins with %q, want %q", name, process, label, got, want)
				}
			}
			if want := cmp.Or(k.series, series); len(f.Metric) != want {
				t.Errorf("%s of %s begins with %d series, want %d", name, process, len(f.Metric), want)
			}
		}
	}
	for name := range all {
		if !met[name] {
			t.Errorf("%s has no series at the first scrape", name)
		}
	}
}
