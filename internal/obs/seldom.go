package obs

import (
	"log/slog"
	"sync"
	"time"

	"github.com/tidemark/tidemark/internal/loglimit"
)

// Seldom logs at most one line a second, with the number of omitted lines. It is for events that
// strangers cause, who would otherwise decide the size of the log.
type Seldom struct {
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	lines loglimit.Limiter
}

// NewSeldom logs to l by the clock now, nil for time.Now.
func NewSeldom(l *slog.Logger, now func() time.Time) *Seldom {
	if now == nil {
		now = time.Now
	}
	return &Seldom{log: l, now: now}
}

// Warn logs like slog's, if nothing was logged within the last second.
func (s *Seldom) Warn(message string, args ...any) {
	s.mu.Lock()
	s.lines.Add(1)
	due := s.lines.Due(s.now())
	s.mu.Unlock()
	if due == 0 {
		return
	}
	if due > 1 {
		args = append(args, "left_out", due-1)
	}
	s.log.Warn(message, args...)
}
