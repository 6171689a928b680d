package obs

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
)

// RequestIDHeader has the id of a request, of a call and of its answer.
const RequestIDHeader = "X-Request-Id"

// maxRequestID bounds a caller's id, which goes into log lines.
const maxRequestID = 64

type requestIDKey struct{}

// WithRequestID returns r with an id: the caller's, if it has at most 64 letters, digits, dots,
// colons, dashes and underscores, else a new one. Every answer gets it, too.
func WithRequestID(w http.ResponseWriter, r *http.Request) *http.Request {
	id := r.Header.Get(RequestIDHeader)
	if !sane(id) {
		id = rand.Text()
	}
	w.Header().Set(RequestIDHeader, id)
	return r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id))
}

// RequestID is the id of the request that ctx belongs to, empty if it belongs to none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// CarryRequestID returns a context with only the request id of ctx: it has no end and no other
// value. It is for work that continues after the request is answered.
func CarryRequestID(ctx context.Context) context.Context {
	id := RequestID(ctx)
	if id == "" {
		return context.Background()
	}
	return context.WithValue(context.Background(), requestIDKey{}, id)
}

func sane(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == ':', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// requestIDs adds the id of the request to lines that are logged with its context.
type requestIDs struct{ slog.Handler }

// Handle adds the attribute request_id.
func (h requestIDs) Handle(ctx context.Context, r slog.Record) error {
	if id := RequestID(ctx); id != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("request_id", id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs and WithGroup keep the ids.
func (h requestIDs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requestIDs{h.Handler.WithAttrs(attrs)}
}

func (h requestIDs) WithGroup(name string) slog.Handler { return requestIDs{h.Handler.WithGroup(name)} }
