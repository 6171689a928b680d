package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/internal/test/docs"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// adminAt is the address of --admin-listen.
var adminAt = regexp.MustCompile(`admin=(\S+)`)

// audited are the lines of an audit log, as `kind who [scopes] what from outcome`, in their order.
func audited(t *testing.T, text string) (lines []string) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		var e audit.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil || time.Since(e.Time).Abs() > time.Minute {
			t.Errorf("%q: %v", line, err)
		}
		lines = append(lines, fmt.Sprintf("%s %s [%s] %s %s %s", e.Kind, e.Who, e.Scopes, e.What, e.From, e.Outcome))
	}
	return lines
}

// call sends a request from a client behind the balancer of this machine, and returns the status.
func call(t *testing.T, method, url, token, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Forwarded-For", "203.0.113.7")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// ofOneLine matches the fields that differ from one line of an audit log to the next.
var ofOneLine = regexp.MustCompile(`"time":"[^"]*"|"request_id":"[^"]*"|"erased":\["[^"]*"\]`)

// linesAreShown fails if a log lacks a line that docs/security.md shows, apart from the values of
// ofOneLine.
func linesAreShown(t *testing.T, log string) {
	t.Helper()
	log = ofOneLine.ReplaceAllStringFunc(log, nameAlone)
	shown := docs.Of(docs.Blocks("docs/security.md", document(t, "docs/security.md")), "json")
	if len(shown) != 1 {
		t.Fatalf("docs/security.md has %d blocks in JSON", len(shown))
	}
	for line := range strings.Lines(ofOneLine.ReplaceAllStringFunc(shown[0], nameAlone)) {
		if !strings.Contains(log, line) {
			t.Errorf("docs/security.md shows a line that is not in the log:\n%s\nThe log has\n%s", line, log)
		}
	}
}

// nameAlone returns a field without its value.
func nameAlone(field string) string {
	name, _, _ := strings.Cut(field, ":")
	return name
}

// An erasure, an admin call, a publish and refusals leave one line each, on a node and on a
// gateway; queries, events of users and health leave none. Nothing of a line is a token or what
// people write, wherever a caller puts it.
func TestTheAuditLogOfANode(t *testing.T) {
	brokers := strings.Join(testkit.FakeKafka(t).ListenAddrs(), ",")
	redis := "redis://" + testkit.Miniredis(t).Addr()
	ok(t, "", "topics", "create", "--brokers", brokers, "--partitions", "2", "--replication-factor", "1")
	peers := filepath.Join(t.TempDir(), "peers")
	if err := os.WriteFile(peers, bytes.Repeat([]byte{'s'}, 32), 0o600); err != nil {
		t.Fatal(err)
	}
	common := []string{"--brokers", brokers, "--redis", redis, "--listen", "127.0.0.1:0", "--auth-keys", authtest.KeyFile(t), "--auth-issuer", authtest.Issuer,
		"--peer-secret-file", peers, "--trusted-proxies", "127.0.0.1", "--query-rate", "0.001", "--query-burst", "2"}
	logs := [2]string{filepath.Join(t.TempDir(), "node"), filepath.Join(t.TempDir(), "gateway")}
	_, nodeLog, stopNode := background(t, slices.Concat([]string{"run", "--data-dir", t.TempDir(), "--memory", "256MiB", "--audit-log", logs[0],
		"--admin-listen", "127.0.0.1:0"}, common)...)
	nodeLog.Await(t, "node started")
	node := "http://" + listenAt.FindStringSubmatch(nodeLog.String())[1]
	awaitReady(t, node)
	_, gatewayLog, stopGateway := background(t, slices.Concat([]string{"gateway", "--audit-log", logs[1]}, common)...)
	gatewayLog.Await(t, "node started")
	gateway := "http://" + listenAt.FindStringSubmatch(gatewayLog.String())[1]
	awaitOK(t, gateway+"/readyz")

	const (
		publish = "/tidemark.ingest.v1.IngestService/Publish"
		markAll = "/tidemark.ingest.v1.IngestService/MarkAllRead"
		inbox   = "/tidemark.query.v1.QueryService/GetInbox"
		secret  = "what people write"
	)
	ann, backend, privacy := authtest.Token(t, "ann", time.Hour), authtest.Scoped(t, "backend", "publish"), authtest.Scoped(t, "privacy", "erase")
	admin := authtest.Scoped(t, "ops", "admin")
	for _, c := range []struct {
		method, url, token, body string
		want                     int
	}{
		{"POST", node + publish, backend, `{"events":[{"message":{"channel_id":"c","message_posted":{"message_id":"m","sender_id":"bob","preview":"` + secret + `"}}}]}`, 200},
		{"POST", node + publish, privacy, `{"events":[{"read":{"channel_id":"u","user_id":"gone","user_erased":{}}}]}`, 200},
		{"GET", node + "/healthz", "", "", 200},
		{"POST", node + inbox, ann, `{}`, 200},
		{"POST", node + inbox, ann, `{"user_id":"bob"}`, 403},
		{"POST", node + inbox, ann, `{}`, 429},
		{"POST", node + inbox, "eyJhbGciOi" + secret[:4], `{}`, 401},
		{"POST", node + publish, ann + "x", `{"events":[]}`, 401},
		{"POST", node + publish, backend, `{"events":[{"read":{"channel_id":"u","user_id":"gone","user_erased":{}}}]}`, 403},
		{"POST", node + markAll, authtest.Token(t, "dan", time.Hour), `{}`, 200},
		{"POST", gateway + inbox, admin, `{"user_id":"ann"}`, 403},
		{"GET", gateway + "/v1/socket?user_id=ann", ann + "x", "", 401},
	} {
		if got := call(t, c.method, c.url, c.token, c.body); got != c.want {
			t.Errorf("%s %s: %d, want %d", c.method, c.url, got, c.want)
		}
	}
	adminURL := "http://" + adminAt.FindStringSubmatch(nodeLog.String())[1]
	for path, want := range map[string]int{
		"/admin/partitions": 200, "/admin/" + ann: 404, "/debug/pprof/goroutine": 200, "/debug/pprof/" + ann: 404,
	} {
		if got := call(t, "GET", adminURL+path, admin, ""); got != want {
			t.Errorf("%.20s: %d, want %d", path, got, want)
		}
	}
	if got := call(t, "GET", adminURL+"/admin/partitions?token="+ann, backend, ""); got != 403 {
		t.Errorf("an admin call of a backend: %d", got)
	}
	if code := stopGateway() + stopNode(); code != exitDone {
		t.Errorf("exit %d", code)
	}

	const from = " 203.0.113.7 "
	for i, want := range [][]string{{
		"publish backend [publish] " + publish + from + "ok",
		"erasure privacy [erase] " + publish + from + "ok",
		"refusal ann [] " + inbox + from + "permission_denied",
		"refusal ann [] " + inbox + from + "resource_exhausted",
		"refusal  [] " + inbox + from + "unauthenticated",
		"refusal  [] " + publish + from + "unauthenticated",
		"refusal backend [publish] " + publish + from + "permission_denied",
		"admin ops [admin] /admin/partitions" + from + "ok",
		"admin ops [admin] /admin/" + from + "unimplemented",
		"admin ops [admin] /debug/pprof/goroutine" + from + "ok",
		"admin ops [admin] /debug/pprof/" + from + "unimplemented",
		"refusal backend [publish] /admin/partitions" + from + "permission_denied",
	}, {
		"refusal ops [admin] " + inbox + from + "permission_denied",
		"refusal  [] /v1/socket" + from + "unauthenticated",
	}} {
		b, err := os.ReadFile(logs[i])
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			linesAreShown(t, string(b))
		}
		got := audited(t, string(b))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if i == 0 && !strings.Contains(string(b), `"erased":["gone"]`) {
			t.Errorf("nobody was erased:\n%s", b)
		}
		for _, token := range []string{ann, backend, privacy, admin, "." + secret, secret, "eyJ"} {
			if strings.Contains(string(b), token) {
				t.Errorf("%q is in the audit log:\n%s", token, b)
			}
		}
	}
}

// Without keys nobody shows who they are, so publishing is everybody's; an erasure is noted all the
// same. - is standard error, and a file that cannot be written stops the start in words.
func TestTheAuditLogOfDev(t *testing.T) {
	args := []string{"dev", "--no-demo", "--listen", "127.0.0.1:0", "--kafka-listen", "127.0.0.1:0", "--redis-listen", "127.0.0.1:0", "--audit-log"}
	out, errout, stop := background(t, append(args, "-")...)
	out.Await(t, "Ctrl-C stops it.")
	url := pageURL.FindStringSubmatch(out.String())[1] + "/tidemark.ingest.v1.IngestService/Publish"
	for _, event := range []string{
		`{"message":{"channel_id":"c","message_posted":{"message_id":"m","sender_id":"bob"}}}`,
		`{"read":{"channel_id":"u","user_id":"gone","user_erased":{}}}`,
	} {
		if got := call(t, "POST", url, "", `{"events":[`+event+`]}`); got != http.StatusOK {
			t.Errorf("%d", got)
		}
	}
	if code := stop(); code != exitDone {
		t.Errorf("exit %d", code)
	}
	var audit strings.Builder // standard error without the lines of the node's own log
	for line := range strings.Lines(errout.String()) {
		if !strings.HasPrefix(line, "time=") {
			audit.WriteString(line)
		}
	}
	if got := audited(t, audit.String()); len(got) != 1 || got[0] != "erasure  [] /tidemark.ingest.v1.IngestService/Publish 127.0.0.1 ok" {
		t.Errorf("%q", got)
	}
	r := tidemark(t, "", append(args, filepath.Join(t.TempDir(), "nowhere", "audit"))...)
	if r.code != exitUsage || !strings.Contains(r.errout, "--audit-log: the audit log cannot be opened") {
		t.Errorf("exit %d: %s", r.code, r.errout)
	}
}
