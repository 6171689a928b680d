package obs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidemark/tidemark/internal/obs/codes"
)

// Readiness is what /readyz answers.
type Readiness struct {
	Ready bool
	// Lines say more: while not ready, one for each partition or part that is not.
	Lines []string
}

// Mux serves what every node has: /healthz (200 while the process answers at all), /readyz (200
// when ready says so, else 503 with its lines; ?format=json: as JSON) and /metrics, unless metrics
// is nil. Other paths go to rest; nil: 404.
func Mux(ready func() Readiness, metrics, rest http.Handler) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, req *http.Request) {
		answerReady(w, req.URL.Query().Get("format"), ready())
	})
	if metrics != nil {
		mux.Handle("GET /metrics", metrics)
	}
	if rest != nil {
		mux.Handle("/", rest)
	}
	return mux
}

// answerReady writes a readiness for people, or for programs if they ask for the format json.
func answerReady(w http.ResponseWriter, format string, r Readiness) {
	status, first := http.StatusOK, "ready"
	if !r.Ready {
		status, first = http.StatusServiceUnavailable, "not ready"
	}
	if format != FormatJSON {
		lines := []string{first}
		for _, line := range r.Lines {
			lines = append(lines, codes.Marked(line))
		}
		text(w, status, lines...)
		return
	}
	answer := readyAnswer{Ready: r.Ready, Lines: []readyLine{}}
	for _, line := range r.Lines {
		answer.Lines = append(answer.Lines, readyLine{line, codes.Of(line)})
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the caller may be gone
}

// readyAnswer is what /readyz?format=json answers.
type readyAnswer struct {
	Ready bool        `json:"ready"`
	Lines []readyLine `json:"lines"`
}

type readyLine struct {
	Text string `json:"text"`
	Code string `json:"code,omitempty"` // of package codes
}

func text(w http.ResponseWriter, status int, lines ...string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	fmt.Fprintln(w, strings.Join(lines, "\n"))
}
