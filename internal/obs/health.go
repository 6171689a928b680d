package obs

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Readiness is what /readyz answers.
type Readiness struct {
	Ready bool
	// Lines say more: while not ready, one for each partition or part that is not.
	Lines []string
}

// Mux serves what every node has: /healthz (200 while the process answers at all), /readyz (200 when ready says so, else
// 503 with its lines) and /metrics. What is not there goes to rest; nil: 404.
func Mux(ready func() Readiness, metrics *prometheus.Registry, rest http.Handler) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		r := ready()
		status, first := http.StatusOK, "ready"
		if !r.Ready {
			status, first = http.StatusServiceUnavailable, "not ready"
		}
		text(w, status, append([]string{first}, r.Lines...)...)
	})
	mux.Handle("GET /metrics", metricsHandler(metrics))
	if rest != nil {
		mux.Handle("/", rest)
	}
	return mux
}

func text(w http.ResponseWriter, status int, lines ...string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	fmt.Fprintln(w, strings.Join(lines, "\n"))
}
