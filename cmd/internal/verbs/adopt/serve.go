package adopt

import (
	"fmt"
	"log/slog"
	"net"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/internal/edge"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/obs"
)

// serve serves health and metrics at an address until stop is called. Without an address it does
// nothing.
func serve(addr string, ready func() obs.Readiness, log *slog.Logger, metrics *prometheus.Registry) (stop func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (%w): name another address with --listen", addr, err)
	}
	s := edge.New(edge.Config{Registerer: metrics, Logger: log}, "http", obs.Mux(ready, obs.Metrics(metrics, false), nil))
	guard.Go("health and metrics", func(e *guard.Error) { log.Error("health and metrics are not served any more", "error", e) }, func() {
		if err := s.Serve(ln, nil); err != nil {
			log.Error("health and metrics are not served any more", "error", err)
		}
	})
	return func() { _ = s.Close() }, nil
}
