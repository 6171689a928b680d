package audit

import (
	"context"
	"net/http"

	"github.com/tidemark/tidemark/internal/auth"
)

// heardKey finds a *heard in the context of a request.
type heardKey struct{}

// heard is what a handler records while it answers a request.
type heard struct {
	id         auth.Identity
	why, level string
}

// Heard records the caller of a request that Handler serves, and the reason of a refusal; empty if
// it is not refused.
func Heard(ctx context.Context, id auth.Identity, why string) {
	if h, is := ctx.Value(heardKey{}).(*heard); is {
		h.id, h.why = id, why
	}
}

// HeardLevel records the log level that a request which Handler serves has chosen.
func HeardLevel(ctx context.Context, level string) {
	if h, is := ctx.Value(heardKey{}).(*heard); is {
		h.level = level
	}
}

// Handler serves next and records each request once it is answered. kind returns the kind of its
// entry; a request with an empty kind is recorded only if it is refused. what returns a name for a
// request that the node has chosen, because a path may have any text of a stranger.
func Handler(l *Log, kind func(*http.Request) Kind, what func(*http.Request) string, next http.Handler) http.Handler {
	if l == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := &heard{}
		out := &answer{ResponseWriter: w, status: http.StatusInternalServerError} // as long as next panics
		defer func() {
			outcome := outcomeOf(out.status)
			k := kind(r)
			if IsRefusal(outcome) {
				k = Refusal
			}
			if k == "" {
				return
			}
			e := Of(r.Context(), k, what(r), r.RemoteAddr).By(h.id)
			e.Outcome, e.Why, e.Level = outcome, h.why, h.level
			l.Note(e)
		}()
		next.ServeHTTP(out, r.WithContext(context.WithValue(r.Context(), heardKey{}, h)))
		if !out.begun {
			out.status = http.StatusOK
		}
	})
}

// answer records the status.
type answer struct {
	http.ResponseWriter
	status int
	begun  bool
}

func (a *answer) WriteHeader(status int) {
	if !a.begun && status >= http.StatusOK {
		a.status, a.begun = status, true
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	if !a.begun {
		a.status, a.begun = http.StatusOK, true
	}
	return a.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
