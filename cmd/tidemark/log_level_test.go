package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// Operators see debug lines of a running node and of a running gateway, without a restart, and only
// with the scope admin. The node has the level at its address for operators only.
func TestTheLogLevelOfARunningNode(t *testing.T) {
	brokers := strings.Join(testkit.FakeKafka(t).ListenAddrs(), ",")
	dir := t.TempDir()
	peers, token, weak, notes := filepath.Join(dir, "peers"), filepath.Join(dir, "token"), filepath.Join(dir, "weak"), filepath.Join(dir, "audit")
	for name, text := range map[string]string{peers: strings.Repeat("s", 32), token: authtest.Scoped(t, "ops", "admin"), weak: authtest.Scoped(t, "svc", "read publish erase")} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ok(t, "", "topics", "create", "--brokers", brokers, "--partitions", "1", "--replication-factor", "1")
	common := []string{"--brokers", brokers, "--redis", "redis://" + testkit.Miniredis(t).Addr(), "--listen", "127.0.0.1:0", "--auth-keys", authtest.KeyFile(t),
		"--auth-issuer", authtest.Issuer, "--peer-secret-file", peers}
	_, nodeLog, stopNode := background(t, append([]string{"run", "--data-dir", t.TempDir(), "--memory", "256MiB", "--audit-log", notes, "--admin-listen", "127.0.0.1:0"}, common...)...)
	nodeLog.Await(t, "node started")
	_, gatewayLog, stopGateway := background(t, append([]string{"gateway"}, common...)...)
	gatewayLog.Await(t, "node started")
	for _, p := range []struct {
		name, url, usual string
		log              *testkit.Output
	}{
		{"node", "http://" + adminAt.FindStringSubmatch(nodeLog.String())[1], "info", nodeLog},
		{"gateway", "http://" + listenAt.FindStringSubmatch(gatewayLog.String())[1], "info", gatewayLog},
	} {
		refused := func() {
			if got := call(t, http.MethodGet, p.url+"/admin/log-level", "nonsense", ""); got != http.StatusUnauthorized {
				t.Errorf("%s: %d", p.name, got)
			}
		}
		refused()
		for _, args := range [][]string{{"log-level"}, {"log-level", "debug"}} {
			if r := tidemark(t, "", append(args, "--addr", p.url, "--token-file", weak)...); r.code != exitFailed || !strings.Contains(r.errout, "needs the scope admin") {
				t.Errorf("%s without the scope: %d %s", p.name, r.code, r.errout)
			}
		}
		at := []string{"--addr", p.url, "--token-file", token}
		if out := ok(t, "", append([]string{"log-level"}, at...)...); out != p.usual+"\n" {
			t.Errorf("%s: %q", p.name, out)
		}
		if strings.Contains(p.log.String(), "level=DEBUG") {
			t.Errorf("%s writes debug lines at once", p.name)
		}
		if out := ok(t, "", append([]string{"log-level", "debug"}, at...)...); !strings.HasPrefix(out, "debug until 20") || !strings.HasSuffix(out, ", then "+p.usual+"\n") {
			t.Errorf("%s: %q", p.name, out)
		}
		refused()
		p.log.Await(t, "a token was refused")
		var s obs.LevelState
		if err := json.Unmarshal([]byte(ok(t, "", append([]string{"log-level", "error", "--for", "0", "--json"}, at...)...)), &s); err != nil || s.Level != "error" || s.Until != nil {
			t.Errorf("%s: %+v, %v", p.name, s, err)
		}
		if out := ok(t, "", append([]string{"log-level"}, at...)...); out != "error until the node ends; the usual level is "+p.usual+"\n" {
			t.Errorf("%s: %q", p.name, out)
		}
		if out := ok(t, "", append([]string{"log-level", "usual"}, at...)...); out != p.usual+"\n" {
			t.Errorf("%s: %q", p.name, out)
		}
	}
	node := "http://" + listenAt.FindStringSubmatch(nodeLog.String())[1]
	if r := tidemark(t, "", "log-level", "debug", "--addr", node, "--token-file", token); r.code != exitFailed || !strings.Contains(r.errout, "--admin-listen") {
		t.Errorf("at --listen: %d %s", r.code, r.errout)
	}
	if r := tidemark(t, "", "log-level", "debug", "--for=-1s"); r.code != exitUsage || !strings.Contains(r.errout, "cannot be negative") {
		t.Errorf("%d %s", r.code, r.errout)
	}
	if code := stopGateway() + stopNode(); code != exitDone {
		t.Errorf("exit %d", code)
	}
	b, err := os.ReadFile(notes)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(b); strings.Count(text, `"level":"debug for 10m0s"`) != 1 || strings.Count(text, `"level":"usual"`) != 1 {
		t.Errorf("%s", text)
	}
}
