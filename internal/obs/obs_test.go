package obs

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestLoggerFormats(t *testing.T) {
	var b bytes.Buffer
	l, err := NewLogger(&b, FormatJSON, "warn")
	if err != nil {
		t.Fatal(err)
	}
	l.Info("quiet")
	l.Warn("loud", "partition", 3)
	var line struct {
		Msg       string
		Partition int
	}
	if err := json.Unmarshal(b.Bytes(), &line); err != nil || line.Msg != "loud" || line.Partition != 3 {
		t.Errorf("%q: %v", b.String(), err)
	}
	b.Reset()
	if l, err = NewLogger(&b, FormatText, "debug"); err != nil {
		t.Fatal(err)
	}
	l.Debug("x", "a", 1)
	if got := b.String(); !strings.Contains(got, "msg=x a=1") {
		t.Errorf("text: %q", got)
	}
	for _, c := range [][2]string{{"xml", "info"}, {FormatText, "loud"}} {
		if _, err := NewLogger(&b, c[0], c[1]); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestBuildIsOneLine(t *testing.T) {
	b := NewBuild("v1.2")
	if s := b.String(); !strings.HasPrefix(s, "tidemark v1.2") || !strings.Contains(s, b.Go) || strings.Contains(s, "\n") {
		t.Errorf("%q", s)
	}
	if NewBuild("").Version == "" {
		t.Error("a build without a name has none at all")
	}
}

func serve(t *testing.T, h http.Handler, method, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(body)
}

func TestEndpoints(t *testing.T) {
	state := Readiness{Lines: []string{"partition 0 live", "partition 1 opening 3.0%"}}
	rest := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	mux := Mux(func() Readiness { return state }, Metrics(NewRegistry(NewBuild("v9")), false), rest)

	if code, body := serve(t, mux, "GET", "/healthz"); code != 200 || body != "ok\n" {
		t.Errorf("/healthz: %d %q", code, body)
	}
	if code, body := serve(t, mux, "GET", "/readyz"); code != 503 || body != "not ready\npartition 0 live\npartition 1 opening 3.0%\n" {
		t.Errorf("/readyz while opening: %d %q", code, body)
	}
	if code, body := serve(t, mux, "GET", "/readyz?format=json"); code != 503 ||
		body != `{"ready":false,"lines":[{"text":"partition 0 live"},{"text":"partition 1 opening 3.0%"}]}`+"\n" {
		t.Errorf("/readyz as JSON: %d %q", code, body)
	}
	state.Lines = []string{"partition 1 failed: topic chat.reads: no such topic"}
	if code, body := serve(t, mux, "GET", "/readyz"); code != 503 || body != "not ready\npartition 1 failed: topic chat.reads: no such topic [TM002]\n" {
		t.Errorf("/readyz of a refusal: %d %q", code, body)
	}
	if code, body := serve(t, mux, "GET", "/readyz?format=json"); code != 503 ||
		body != `{"ready":false,"lines":[{"text":"partition 1 failed: topic chat.reads: no such topic","code":"TM002"}]}`+"\n" {
		t.Errorf("/readyz of a refusal as JSON: %d %q", code, body)
	}
	state = Readiness{Ready: true}
	if code, body := serve(t, mux, "GET", "/readyz?format=json"); code != 200 || body != `{"ready":true,"lines":[]}`+"\n" {
		t.Errorf("/readyz as JSON: %d %q", code, body)
	}
	state = Readiness{Ready: true, Lines: []string{"partition 0 live"}}
	if code, body := serve(t, mux, "GET", "/readyz"); code != 200 || body != "ready\npartition 0 live\n" {
		t.Errorf("/readyz: %d %q", code, body)
	}
	code, body := serve(t, mux, "GET", "/metrics")
	if code != 200 || !strings.Contains(body, `tidemark_build_info{`) || !strings.Contains(body, "go_goroutines") {
		t.Errorf("/metrics: %d %.200q", code, body)
	}
	if code, _ := serve(t, mux, "POST", "/other"); code != http.StatusTeapot {
		t.Errorf("what is not ours: %d", code)
	}
	if code, _ := serve(t, Mux(func() Readiness { return state }, Metrics(prometheus.NewRegistry(), false), nil), "GET", "/other"); code != 404 {
		t.Errorf("without a rest: %d", code)
	}
}

type broken struct{}

func (broken) Describe(c chan<- *prometheus.Desc) { c <- prometheus.NewDesc("broken", "x", nil, nil) }
func (broken) Collect(c chan<- prometheus.Metric) {
	c <- prometheus.NewInvalidMetric(prometheus.NewDesc("broken", "x", nil, nil), io.ErrUnexpectedEOF)
}

func TestABrokenCollectorHidesNothingElse(t *testing.T) {
	r := NewRegistry(NewBuild(""))
	r.MustRegister(broken{})
	if code, body := serve(t, Mux(nil, Metrics(r, false), nil), "GET", "/metrics"); code != 200 || !strings.Contains(body, "tidemark_build_info") {
		t.Errorf("%d %.100q", code, body)
	}
}
