// Package httpguard serves HTTP with handlers that may panic.
package httpguard

import (
	"log/slog"
	"net/http"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/obs"
)

// Handler serves next. If next panics, the request gets status 500 and a JSON error with code
// "internal"; if its answer has already begun, the connection ends. Only the log has the panic.
func Handler(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &answer{ResponseWriter: w}
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it like this, too
				panic(v)
			}
			log.ErrorContext(r.Context(), "panic while answering", append(guard.Attrs(guard.New(r.URL.Path, v)), "method", r.Method)...)
			if out.begun {
				panic(http.ErrAbortHandler)
			}
			h := w.Header()
			id := h.Get(obs.RequestIDHeader) // set by the layer before this one
			clear(h)
			if id != "" {
				h.Set(obs.RequestIDHeader, id)
			}
			h.Set("Content-Type", "application/json")
			h.Set("Connection", "close") // the request may be half read
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"code":"internal","message":"` + Answer + `"}` + "\n")) // the client may be gone
		}()
		next.ServeHTTP(out, r)
	})
}

// Answer is the error of a call that panicked. It has nothing of the panic's value, which may
// contain data that callers must not see.
const Answer = "the node failed on a bug; its log has the place"

// answer records whether anything was sent.
type answer struct {
	http.ResponseWriter
	begun bool
}

func (a *answer) WriteHeader(status int) {
	a.begun = a.begun || status >= http.StatusOK || status == http.StatusSwitchingProtocols
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Flush implements http.Flusher, which connect asks for by type.
func (a *answer) Flush() {
	a.begun = true
	_ = http.NewResponseController(a.ResponseWriter).Flush() // as http.Flusher: no error
}
