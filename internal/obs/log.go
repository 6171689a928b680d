package obs

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/tidemark/tidemark/internal/obs/codes"
)

// Formats of log lines.
const (
	FormatText = "text" // key=value
	FormatJSON = "json" // one JSON object a line
)

// NewLogger writes lines of at least the given level ("debug", "info", "warn" or "error") to w.
// Warnings have the code of their error. Lines that are logged with the context of a request have
// its id.
func NewLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	l, err := NewLevel(level)
	if err != nil {
		return nil, err
	}
	return NewLoggerAt(w, format, l)
}

// NewLoggerAt is NewLogger with a level that may change.
func NewLoggerAt(w io.Writer, format string, l *Level) (*slog.Logger, error) {
	o := &slog.HandlerOptions{Level: l}
	switch format {
	case FormatText:
		return slog.New(requestIDs{codes.Logger(slog.NewTextHandler(w, o))}), nil
	case FormatJSON:
		return slog.New(requestIDs{codes.Logger(slog.NewJSONHandler(w, o))}), nil
	}
	return nil, fmt.Errorf("log format %q: want %s or %s", format, FormatText, FormatJSON)
}
