package admin

import (
	"fmt"
	"net/http"
	"time"

	"github.com/tidemark/tidemark/internal/audit"
)

// LogLevel serves PathLogLevel to the callers that a Handler accepts. It needs no stores, so every
// process with a log serves it. Level must be set.
func LogLevel(c Config) http.Handler {
	h := &handler{c}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+PathLogLevel, func(w http.ResponseWriter, _ *http.Request) { reply(w, h.Level.State()) })
	mux.HandleFunc("PUT "+PathLogLevel, h.setLogLevel)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusMethodNotAllowed, "unimplemented", "there are GET and PUT "+PathLogLevel)
	})
	return h.audited(mux, http.NewCrossOriginProtection().Handler(h.guard(mux)))
}

func (h *handler) setLogLevel(w http.ResponseWriter, r *http.Request) {
	var q LogLevelRequest
	if !decode(w, r, &q) {
		return
	}
	d, err := q.duration()
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_argument", err.Error())
		return
	}
	before := h.Level.State()
	if q.Level == UsualLevel {
		h.Level.Reset()
	} else if err := h.Level.Set(q.Level, d); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_argument", err.Error()+", or "+UsualLevel)
		return
	}
	after := h.Level.State()
	chosen := q.Level
	if d > 0 {
		chosen += " for " + d.String()
	}
	audit.HeardLevel(r.Context(), chosen)
	h.Logger.WarnContext(r.Context(), "the log level was changed", "before", before.Level, "level", after.Level, "usual", after.Usual, "for", q.For)
	reply(w, after)
}

// duration returns how long a change lasts; 0: until the node ends.
func (q LogLevelRequest) duration() (time.Duration, error) {
	if q.For == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(q.For)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("for %.40q: want a duration above 0, such as 10m, or nothing for a change until the node ends", q.For)
	}
	if q.Level == UsualLevel {
		return 0, fmt.Errorf("level %s with for: the usual level has no end", UsualLevel)
	}
	return d, nil
}
