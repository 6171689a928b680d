package obs

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// NewRegistry is a registry of a node's own, with the metrics of the Go runtime, the process and
// the build.
func NewRegistry(b Build) *prometheus.Registry {
	r := prometheus.NewRegistry()
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "tidemark_build_info", Help: "1, with what is running as labels.",
	}, []string{"version", "revision", "go"})
	build.WithLabelValues(b.Version, b.Revision, b.Go).Set(1)
	r.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Metrics serves the metrics of a registry. A collector that fails does not hide the others. With
// exemplars a scraper may ask for the OpenMetrics format, which has the ids of traces beside times.
// Without them it is not offered: it writes the bounds of buckets in another way ("1.0" for "1").
func Metrics(r *prometheus.Registry, exemplars bool) http.Handler {
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, Registry: r, EnableOpenMetrics: exemplars})
}
