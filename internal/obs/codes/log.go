package codes

import (
	"context"
	"log/slog"
)

// Logger adds the attribute code to warnings and errors of h whose error has a code.
func Logger(h slog.Handler) slog.Handler { return logger{h} }

type logger struct{ slog.Handler }

// Handle uses the code of the first error that has one.
func (l logger) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		id := ""
		r.Attrs(func(a slog.Attr) bool {
			if err, is := a.Value.Any().(error); is && err != nil {
				id = Of(err.Error())
			}
			return id == ""
		})
		if id != "" {
			r = r.Clone()
			r.AddAttrs(slog.String("code", id))
		}
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs and WithGroup keep the codes.
func (l logger) WithAttrs(attrs []slog.Attr) slog.Handler { return logger{l.Handler.WithAttrs(attrs)} }

func (l logger) WithGroup(name string) slog.Handler { return logger{l.Handler.WithGroup(name)} }
