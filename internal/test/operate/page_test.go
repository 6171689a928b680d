package operate

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

const page = "../../../docs/metrics.md"

// docs/metrics.md lists the metrics that processes of every role export, and no others.
func TestThePageHasEveryMetric(t *testing.T) {
	all := export(t)
	known := map[string]bool{}
	for role, families := range all {
		if len(families) < 40 {
			t.Errorf("the %s exports only %d metrics", role, len(families))
		}
		for name := range families {
			known[name] = true
			if !strings.HasPrefix(name, "tidemark_") {
				continue
			}
			if m := kafkaName.FindStringSubmatch(name); m != nil {
				if !slices.ContainsFunc(kafkaMeaning, func(k struct{ end, kind, labels, meaning string }) bool { return k.end == m[2] }) {
					t.Errorf("advice.go does not have %s", name)
				}
			} else if advice[name] == "" {
				t.Errorf("advice.go does not say what to do about %s", name)
			}
		}
	}
	for name := range advice {
		if !known[name] {
			t.Errorf("advice.go has %s, which no process exports", name)
		}
	}
	for _, k := range kafkaMeaning {
		if name := "tidemark_processor_kafka_" + k.end; !known[name] && !seldom[k.end] {
			t.Errorf("advice.go has %s, which no process exports", name)
		}
	}
	want := Page(all)
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range difference(string(b), want) {
		t.Errorf("docs/metrics.md differs from what processes export (go test ./internal/test/operate -update writes it anew): %s", line)
	}
}

// difference returns the lines that only one of two pages has.
func difference(have, want string) (lines []string) {
	had, wanted := strings.Split(have, "\n"), strings.Split(want, "\n")
	for _, l := range had {
		if !slices.Contains(wanted, l) {
			lines = append(lines, "only there: "+l)
		}
	}
	for _, l := range wanted {
		if !slices.Contains(had, l) {
			lines = append(lines, "missing: "+l)
		}
	}
	return lines
}

// Prometheus' own linter accepts the names, types and texts of all metrics. The exception are two
// gauges that the Kafka client library names like counters, as the page says.
func TestMetricsAreNamedAsTheyShould(t *testing.T) {
	excused := 0
	for role, families := range export(t) {
		var all []*dto.MetricFamily
		for name, f := range families {
			if strings.HasPrefix(name, "tidemark_") {
				all = append(all, f)
			}
		}
		problems, err := promlint.NewWithMetricFamilies(all).Lint()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			if m := kafkaName.FindStringSubmatch(p.Metric); m != nil && (m[2] == "buffered_fetch_records_total" || m[2] == "buffered_produce_records_total") {
				excused++
				continue
			}
			t.Errorf("%s of the %s: %s", p.Metric, role, p.Text)
		}
	}
	if excused == 0 {
		t.Error("no metric of the Kafka clients is excused any more: remove the exception")
	}
}
