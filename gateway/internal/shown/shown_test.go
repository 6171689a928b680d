package shown

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// A number counts as different, and is logged, only if it differs although the client had received
// everything.
func TestJudge(t *testing.T) {
	var log bytes.Buffer
	c := New(prometheus.NewRegistry(), slog.New(slog.NewTextHandler(&log, nil)))
	num := func(n int64) *int64 { return &n }
	for _, j := range []struct {
		shows   *int64
		badge   uint64
		settled bool
	}{
		{nil, 7, true}, {num(7), 7, false}, {num(7), 7, true}, {num(6), 7, false}, {num(-1), 1<<64 - 1, true}, {num(0), 1, true},
	} {
		c.Judge("c-1", j.shows, j.badge, j.settled)
	}
	for outcome, want := range map[string]float64{equal: 2, unknown: 1, different: 2} {
		var m dto.Metric
		if err := c.outcomes.WithLabelValues(outcome).Write(&m); err != nil || m.GetCounter().GetValue() != want {
			t.Errorf("%s: %g, %v, want %g", outcome, m.GetCounter().GetValue(), err, want)
		}
	}
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "instance=c-1 shows=-1") {
		t.Errorf("the log has\n%s", log.String())
	}
}
