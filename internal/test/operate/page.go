package operate

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// roles are the kinds of processes that export metrics.
var roles = []string{"node", "cache", "sql", "gateway", "bridge", "compare"}

// Page returns docs/metrics.md: all metrics that processes export, by role and name.
func Page(exported map[string]map[string]*dto.MetricFamily) string {
	where, families := map[string][]string{}, map[string]*dto.MetricFamily{}
	for _, role := range roles {
		for name, f := range exported[role] {
			where[name] = append(where[name], role)
			if families[name] == nil {
				families[name] = f
			}
		}
	}
	var b strings.Builder
	b.WriteString(`# Metrics

Every process serves its metrics at ` + "`/metrics`" + ` (at ` + "`--admin-listen`" + `, if given). A test writes this page from the metrics that running processes export, and compares it:
` + "`go test ./internal/test/operate -update`" + ` updates it. The column *where* names the processes that have a metric: a **node** (` + "`tidemark run`" + ` with all roles; without a role, its metrics
are missing), a **cache** (` + "`tidemark run --roles cache`" + `), **sql** (` + "`tidemark run --roles sql`" + `), a **gateway** (` + "`tidemark gateway`" + `), a **bridge** (` + "`tidemark bridge --listen`" + `), **compare** (` + "`tidemark compare --follow --listen`" + `). No label has the id of a user or a channel. Counters that an alert uses are 0 from the start.

Alert rules and dashboards for these metrics are in ` + "`deploy/prometheus`" + ` and ` + "`deploy/grafana`" + `; [What to watch](runbook.md#what-to-watch) says how to load them.
`)
	for _, s := range []struct{ title, prefix string }{
		{"The processor", "tidemark_processor_"}, {"Queries", "tidemark_query_"}, {"The gateway", "tidemark_gateway_"}, {"The cache", "tidemark_cache_"}, {"The SQL sink", "tidemark_sql_"},
		{"Redis, as its clients see it", "tidemark_redis_"}, {"The bridge", "tidemark_bridge_"}, {"The comparison", "tidemark_compare_"}, {"Listeners", "tidemark_http_"}, {"The audit log", "tidemark_audit_"},
		{"The check of random channels", "tidemark_badge_"}, {"The state", "tidemark_state_"}, {"Traces", "tidemark_trace_"}, {"The process", "tidemark_memory_"},
		{"The build", "tidemark_build_"},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n| metric | type | unit | labels | where | meaning | what to do |\n|---|---|---|---|---|---|---|\n", s.title)
		for _, name := range slices.Sorted(maps.Keys(families)) {
			if strings.HasPrefix(name, s.prefix) && !isKafka(name) {
				f := families[name]
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", name, strings.ToLower(f.GetType().String()), unit(f),
					quoted(labels(f)), strings.Join(where[name], ", "), cell(f.GetHelp()), advice[name])
			}
		}
	}
	b.WriteString("\n## Kafka clients\n\nEvery client of Kafka has these, under `tidemark_processor_kafka_` and `tidemark_ingest_kafka_` (a node), `tidemark_cache_kafka_` (a cache), `tidemark_sql_kafka_` (sql). " +
		"Those of the processor have\nthe label `client_id` as well. A series begins when its first broker, topic or error appears.\n\n" +
		"| end of the name | type | labels | meaning |\n|---|---|---|---|\n")
	for _, k := range kafkaMeaning {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.end, k.kind, k.labels, k.meaning)
	}
	b.WriteString("\n## Go and the process\n\n`go_*`, `process_*` and `promhttp_*` are those of every Go program with Prometheus' client library. Compare `process_resident_memory_bytes` " +
		"with `--memory` and\n`process_open_fds` with `process_max_fds`, and watch `go_goroutines`.\n")
	return b.String()
}

var kafkaName = regexp.MustCompile(`^tidemark_(processor|cache|ingest|sql)_kafka_(.+)$`)

func isKafka(name string) bool { return kafkaName.MatchString(name) }

// unit returns the unit of a metric, which its name contains.
func unit(f *dto.MetricFamily) string {
	name := f.GetName()
	switch {
	case strings.Contains(name, "_bytes"):
		return "bytes"
	case strings.HasSuffix(name, "_seconds"):
		return "seconds"
	case strings.Contains(name, "_records") || strings.HasSuffix(name, "_deltas"):
		return "records"
	case strings.HasSuffix(name, "_progress"):
		return "ratio"
	case strings.HasSuffix(name, "_position"):
		return "offset"
	}
	return "count"
}

func quoted(names []string) string {
	var all []string
	for _, n := range names {
		all = append(all, "`"+n+"`")
	}
	return strings.Join(all, ", ")
}

// cell returns a text as a cell of a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(flagName.ReplaceAllString(s, "`$0`"), "|", `\|`), "\n", " ")
}

var flagName = regexp.MustCompile(`--[a-z][a-z-]+`)
