package edge

import (
	"log"
	"strings"

	"github.com/tidemark/tidemark/internal/obs"
)

// newErrorLog makes the error log of an http.Server. Its lines contain text of strangers (failed
// TLS handshakes, for example), which slog quotes.
func newErrorLog(s *obs.Seldom) *log.Logger { return log.New(lines{s}, "", 0) }

type lines struct{ s *obs.Seldom }

// Write takes one line of a log.Logger.
func (l lines) Write(b []byte) (int, error) {
	l.s.Warn("http", "err", bounded(strings.TrimSpace(string(b))))
	return len(b), nil
}

// bounded shortens text of a stranger.
func bounded(s string) string {
	const limit = 400
	if len(s) > limit {
		return s[:limit] + "…"
	}
	return s
}
