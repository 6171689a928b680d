package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/cmd/internal/verbs/preflight"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// checked runs `config check --json` with flags and returns its lines as "check result", and the
// text of those that are not ok.
func checked(t *testing.T, code int, args ...string) (lines []string, text string) {
	t.Helper()
	r := tidemark(t, "", append([]string{"config", "check", "--json"}, args...)...)
	var report struct {
		Checks          []preflight.Line
		Failed, Unknown int
	}
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || r.code != code {
		t.Fatalf("exit %d, want %d: %+v, %v", r.code, code, r, err)
	}
	for _, l := range report.Checks {
		lines = append(lines, l.Check+" "+string(l.Result))
		if (l.WayOut == "") != (l.Result == preflight.OK) {
			t.Errorf("no way out, or one of nothing: %+v", l)
		}
		if l.Result != preflight.OK {
			text += l.Found + "\n" + l.WayOut + "\n"
		}
	}
	return lines, text
}

func TestConfigCheck(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		dir := t.TempDir()
		set := env.Topics(t, 3)
		flags := func(more ...string) []string {
			return append([]string{"--brokers", strings.Join(env.Brokers, ","), "--topic-prefix", set.Prefix, "--redis", env.RedisURL, "--roles", "processor,cache,query,gateway",
				"--data-dir", filepath.Join(dir, "data"), "--snapshots", "file://" + filepath.Join(dir, "snapshots"), "--memory", "256MiB", "--listen", "127.0.0.1:0", "--group", set.Prefix + "group"}, more...)
		}
		lines, text := checked(t, exitDone, flags()...)
		want := []string{"settings ok", "brokers ok", "topics ok", "rights ok", "peers ok", "memory ok", "data directory ok", "redis ok", "snapshots ok", "listener ok"}
		if !env.Real { // the embedded servers say nothing of groups' rights, and nothing of eviction
			lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "rights ") || l == "redis unknown" })
			want = slices.DeleteFunc(want, func(l string) bool { return strings.HasPrefix(l, "rights ") })
		}
		if !slices.Equal(lines, want) {
			t.Errorf("all is well: %q, want %q\n%s", lines, want, text)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 1 { // the folder of the snapshots
			t.Errorf("it left %v, %v", left, err)
		}
		lines, text = checked(t, exitFailed, flags("--topic-prefix", "nowhere.", "--memory", "1MiB", "--redis", "redis://"+closedPort(t), "--auth-issuer", "x",
			"--data-dir", "/dev/null/data")...)
		for _, w := range []string{"keys of tokens failed", "topics failed", "memory failed", "data directory failed", "redis failed", "snapshots ok"} {
			if !slices.Contains(lines, w) {
				t.Errorf("%q is not in %q", w, lines)
			}
		}
		for _, w := range []string{"tidemark topics create", "--auth-keys", "128MiB", "--data-dir", "no Redis answers"} {
			if !strings.Contains(text, w) {
				t.Errorf("%q is not in\n%s", w, text)
			}
		}
	})
}

func TestConfigCheckPrintsOneTable(t *testing.T) {
	nobody := closedPort(t)
	r := tidemark(t, "", "config", "check", "--brokers", nobody, "--roles", "processor", "--data-dir", t.TempDir(), "--memory", "1GiB", "--listen", "127.0.0.1:0")
	if r.code != exitFailed || !strings.HasPrefix(r.out, "CHECK") || !strings.Contains(r.out, "brokers") || !strings.Contains(r.out, "-> check the addresses of --brokers") ||
		!strings.Contains(r.errout, "1 check failed") {
		t.Errorf("%+v", r)
	}
}

// A port that is taken, and the members of a group that is there: one that is well, and one that
// cannot be reached any more.
func TestConfigCheckLooksAtTheGroup(t *testing.T) {
	s := stack(t)
	listen := strings.TrimPrefix(s.URL, "http://")
	flags := []string{"--brokers", s.Broker, "--roles", "processor,query", "--data-dir", t.TempDir(), "--memory", "256MiB"}
	if lines, text := checked(t, exitDone, append(flags, "--listen", "127.0.0.1:0")...); !slices.Contains(lines, "peers ok") {
		t.Errorf("%q\n%s", lines, text)
	}
	lines, text := checked(t, exitFailed, append(flags, "--listen", listen, "--fanout-limit", "7", "--standbys", "1")...)
	if !slices.Contains(lines, "listener failed") || !strings.Contains(text, "folds with other settings") || !strings.Contains(text, "the same --standbys") {
		t.Errorf("%q\n%s", lines, text)
	}
}

// A node that answers something else than a node does is no peer.
func TestConfigCheckSaysWhyAPeerIsNotOne(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	s := testkit.FakeKafka(t)
	brokers := strings.Join(s.ListenAddrs(), ",")
	ok(t, "", "topics", "create", "--brokers", brokers, "--partitions", "2", "--replication-factor", "1")
	_, errout, stop := background(t, "run", "--brokers", brokers, "--roles", "processor", "--data-dir", t.TempDir(), "--memory", "256MiB",
		"--listen", "127.0.0.1:0", "--advertise", other.URL)
	defer stop()
	errout.Await(t, "node started")
	until(t, "the member is seen", func() bool {
		r := tidemark(t, "", "config", "check", "--brokers", brokers, "--roles", "processor", "--data-dir", t.TempDir(), "--memory", "256MiB", "--listen", "127.0.0.1:0")
		return r.code == exitFailed && strings.Contains(r.out, other.URL+" does not answer (/healthz is 404 Not Found)")
	})
}

// The rights that are checked are those that the document gives.
func TestConfigCheckKnowsTheRightsOfTheDocument(t *testing.T) {
	documented := documentedRights(t)
	for _, role := range []config.Role{config.RoleProcessor, config.RoleCache, config.RoleQuery, config.RoleGateway, config.RoleSQL} {
		var want []preflight.Right
		for _, r := range documented[string(role)] {
			want = append(want, preflight.Right{Do: r.Do, Resource: r.Resource, Name: r.Name})
		}
		if got := preflight.Rights(role, verbs.Prefixed(""), "tidemark"); len(got) == 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", role, got, want)
		}
	}
}

// With the rights of the document a real Kafka with ACLs and a real Redis with ACLs are found to
// do. Without one of them the check names it and the command that gives it.
func TestConfigCheckFindsMissingRights(t *testing.T) {
	s := testkit.SecuredServers(t)
	documented := documentedRights(t)
	redisUsers(t, s)
	ok(t, "", append([]string{"topics", "create", "--partitions", "2", "--replication-factor", "1"}, as(t, s, "admin", documented["topics create"])...)...)
	rights := slices.Concat(documented["processor"], documented["query"], documented["cache"])
	rights = slices.CompactFunc(rights, func(a, b testkit.Right) bool { return a == b })
	flags := append(as(t, s, "node", rights), "--data-dir", t.TempDir(), "--memory", "256MiB", "--listen", "127.0.0.1:0",
		"--redis", strings.Replace(s.RedisURL, "rediss://", "rediss://tidemark-cache@", 1), "--redis-ca", s.CAFile, "--redis-password-file", redisPassword(t))
	lines, text := checked(t, exitDone, flags...)
	for _, w := range []string{"rights ok", "topics unknown", "redis ok", "redis unknown"} { // it may not see configurations
		if !slices.Contains(lines, w) {
			t.Errorf("%q is not in %q\n%s", w, lines, text)
		}
	}
	for _, r := range []testkit.Right{
		{User: "node", Do: "Read", Resource: "group", Name: "tidemark-cache"},
		{User: "node", Do: "Write", Resource: "topic", Name: "tidemark.unread"},
		{User: "node", Do: "Write", Resource: "topic", Name: "tidemark.dead-letters"},
	} {
		s.Revoke(r)
		_, text := checked(t, exitFailed, flags...)
		if !strings.Contains(text, "do not allow "+r.Do+" on "+r.Resource+" "+r.Name) ||
			!strings.Contains(text, "--allow-principal User:node --operation "+r.Do+" --"+r.Resource+" "+r.Name) {
			t.Errorf("without %v:\n%s", r, text)
		}
		s.Allow(r)
	}
	if strings.Contains(text, "secret") || strings.Contains(text, "password of") {
		t.Errorf("a password is shown:\n%s", text)
	}
}
