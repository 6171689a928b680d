package obs

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// Level is the lowest level of log lines. It may change while the process runs, for a time or until
// the process ends.
type Level struct {
	usual   slog.Level
	changed atomic.Pointer[change] // nil: the usual level
}

type change struct {
	level slog.Level
	until time.Time // zero: until the process ends
}

// over reports whether the time of a change has passed.
func (c *change) over() bool { return !c.until.IsZero() && !time.Now().Before(c.until) }

// NewLevel returns the level that a name means, for NewLoggerAt.
func NewLevel(name string) (*Level, error) {
	l, err := parseLevel(name)
	return &Level{usual: l}, err
}

func parseLevel(name string) (slog.Level, error) {
	switch name {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("log level %q: want debug, info, warn or error", name)
}

// LevelState describes a Level: the names of the level that applies and of the usual one, and when
// the usual one applies again; nil: it applies, or the change lasts until the process ends.
type LevelState struct {
	Level string     `json:"level"`
	Usual string     `json:"usual"`
	Until *time.Time `json:"until,omitempty"`
}

// Level is for slog.
func (l *Level) Level() slog.Level {
	if c := l.changed.Load(); c != nil && !c.over() {
		return c.level
	}
	return l.usual
}

// Set changes the level for a time; 0: until the process ends.
func (l *Level) Set(name string, d time.Duration) error {
	level, err := parseLevel(name)
	if err != nil {
		return err
	}
	c := &change{level: level}
	if d > 0 {
		c.until = time.Now().Add(d)
	}
	l.changed.Store(c)
	return nil
}

// Reset returns to the usual level.
func (l *Level) Reset() { l.changed.Store(nil) }

// State describes the level now.
func (l *Level) State() LevelState {
	usual := nameOf(l.usual)
	c := l.changed.Load()
	if c == nil || c.over() {
		return LevelState{Level: usual, Usual: usual}
	}
	s := LevelState{Level: nameOf(c.level), Usual: usual}
	if !c.until.IsZero() {
		until := c.until.UTC()
		s.Until = &until
	}
	return s
}

func nameOf(l slog.Level) string {
	switch {
	case l <= slog.LevelDebug:
		return "debug"
	case l <= slog.LevelInfo:
		return "info"
	case l <= slog.LevelWarn:
		return "warn"
	}
	return "error"
}
