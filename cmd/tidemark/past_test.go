package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/travel"
)

// later returns once the clock has a millisecond in which nothing was written yet.
func later() time.Time {
	at := time.Now().UnixMilli()
	for time.Now().UnixMilli() <= at {
		time.Sleep(100 * time.Microsecond) // the clock itself is waited for
	}
	return time.UnixMilli(at)
}

// A running node and a process of its own answer as of a moment, by time and by as_of, and say what
// changed since; the node notes who asked.
func TestThePast(t *testing.T) {
	s := newSite(t, embedded(t), 2)
	log := filepath.Join(t.TempDir(), "audit")
	url, stop := s.run("--audit-log", log, "--snapshots", "file://"+filepath.Join(t.TempDir(), "bucket"))
	awaitReady(t, url)
	emit := func(input string) string {
		return strings.Join(lines(ok(t, input, "emit", "--brokers", s.broker)), ",")
	}
	emit(strings.Join([]string{joinLine, postLine("m1", "secret text"), postLine("m2", "more")}, "\n"))
	before := later()
	after := emit(postLine("m3", "most") + "\n" + postLine("m4", "") + "\n" + readLine)
	query := func(args ...string) string {
		return ok(t, "", append([]string{"query"}, args...)...)
	}
	unread := func(args ...string) float64 {
		var res struct{ Unread float64 }
		out := query(append([]string{"unread", "ann", "general", "--json"}, args...)...)
		if err := json.Unmarshal([]byte(out), &res); err != nil {
			t.Fatal(err, out)
		}
		return res.Unread
	}
	now := unread("--addr", url, "--after", after)
	then := before.UTC().Format(time.RFC3339Nano)
	offline := []string{"--offline", "--brokers", s.broker, "--temp-dir", t.TempDir()}
	if n := unread("--addr", url, "--at", then); n != 2 || now == 2 {
		t.Errorf("the node answers %g then, and %g now", n, now)
	}
	if n := unread(append(offline, "--at", then)...); n != 2 {
		t.Errorf("offline: %g", n)
	}
	if n := unread("--addr", url, "--at", after); n != now {
		t.Errorf("as of %s: %g", after, n)
	}
	if out := query("explain", "ann", "general", "--addr", url, "--at", then); !strings.Contains(out, "m1 m2") {
		t.Errorf("%s", out)
	}
	if out := query("receipts", "general", "m2", "--addr", url, "--at", then); !strings.Contains(out, "read by 0") {
		t.Errorf("%s", out)
	}
	if out := query(append([]string{"inbox", "ann", "--at", then}, offline...)...); !strings.Contains(out, "total: 2 unread") {
		t.Errorf("%s", out)
	}

	moments := []string{"diff", "ann", "--from", then, "--to", later().UTC().Format(time.RFC3339Nano)}
	node, own := ok(t, "", append(moments, "--addr", url, "--json")...), ok(t, "", append(append(moments, "--json"), offline...)...)
	var d travel.Diff
	if err := json.Unmarshal([]byte(node), &d); err != nil || node != own || len(d.Channels) != 1 || len(d.Channels[0].Records) < 2 || strings.Contains(node, "most") {
		t.Errorf("%v\n%s\n%s", err, node, own)
	}
	if out := ok(t, "", append(moments, "--addr", url, "--channel", "general", "--records", "1")...); !strings.Contains(out, "channel general\n") ||
		!strings.Contains(out, "message_posted") || !strings.Contains(out, "more (--records)") {
		t.Errorf("%s", out)
	}
	if out := ok(t, "", "diff", "bob", "--from", then, "--to", then, "--addr", url); out != "nothing changed for bob\n" {
		t.Errorf("%s", out)
	}

	for _, c := range []struct {
		want string
		args []string
	}{
		{"has not come yet", []string{"query", "unread", "ann", "general", "--addr", url, "--at", "2999-01-01"}},
		{"has not come yet", []string{"diff", "ann", "--from", then, "--to", "2999-01-01", "--addr", url}},
		{"has not come yet", append([]string{"diff", "ann", "--from", then, "--to", "2999-01-01"}, offline...)},
		{"is not a moment", []string{"query", "unread", "ann", "general", "--at", "noon"}},
		{"is not a moment", []string{"diff", "ann", "--from", "noon", "--to", then}},
		{"--offline needs --at", []string{"query", "unread", "ann", "general", "--offline"}},
		{"exclude each other", []string{"query", "unread", "ann", "general", "--at", then, "--after", "chat.messages/0/1"}},
		{"needs --offline", []string{"query", "inbox", "ann", "--at", then}},
		{"1 to 1000", []string{"diff", "ann", "--from", then, "--to", then, "--records", "0"}},
	} {
		if r := tidemark(t, "", c.args...); r.code == exitDone || !strings.Contains(r.errout, c.want) {
			t.Errorf("%q: exit %d, %s", c.args, r.code, r.errout)
		}
	}
	stop()
	text, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(text), `"kind":"admin"`) || !strings.Contains(string(text), `"what":"/admin/at/tidemark.query.v1.QueryService/GetUnread"`) ||
		!strings.Contains(string(text), `"what":"/admin/diff"`) {
		t.Errorf("%v: %s", err, text)
	}
	if left, _ := filepath.Glob(filepath.Join(s.data, "travel-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
