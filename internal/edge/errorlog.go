package edge

import (
	"log"
	"strings"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/obs"
)

// newErrorLog makes the error log of an http.Server. Its lines contain text of strangers (failed
// TLS handshakes, for example), which slog quotes.
func newErrorLog(s *obs.Seldom) *log.Logger { return log.New(lines{s}, "", 0) }

type lines struct{ s *obs.Seldom }

// Write writes one line of a log.Logger. A panic becomes an error, because net/http also logs in
// the function that recovers a handler's panic, where another panic would end the process.
func (l lines) Write(b []byte) (n int, err error) {
	defer guard.Recover("logging of a connection", &err)
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
