package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/cmd/internal/conformance"
)

// TestConformance: a node says what all stories say.
func TestConformance(t *testing.T) {
	s := stack(t)
	args, least := []string{"--target", s.URL, "--json"}, 300
	if testing.Short() { // the race detector has enough to do with these
		args, least = append(args, "--story", "museum-3*", "--story", "museum-4*", "--story", "wish/*"), 30
	}
	r := runConformance(t, args...)
	if r.code != exitDone {
		t.Fatalf("exit %d: %s\n%s", r.code, r.errout, differing(t, r.out))
	}
	all := lines(r.out)
	var last struct {
		Summary conformance.Summary `json:"summary"`
	}
	if err := json.Unmarshal([]byte(all[len(all)-1]), &last); err != nil {
		t.Fatal(err)
	}
	if sum := last.Summary; sum.Stories < least || sum.OK != sum.Stories || sum.Differ != 0 || len(all) != sum.Stories+1 {
		t.Errorf("%d lines end with %+v", len(all), sum)
	}
}

// runConformance runs the command, for as long as a busy machine may need.
func runConformance(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var out, errout bytes.Buffer
	code := execute(ctx, append([]string{"tidemark", "conformance", "--timeout", "2m"}, args...), strings.NewReader(""), &out, &errout)
	return result{code, out.String(), errout.String()}
}

// differing has the lines of stories that differ.
func differing(t *testing.T, out string) string {
	t.Helper()
	var b strings.Builder
	for _, line := range lines(out) {
		if strings.Contains(line, `"ok":false`) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// liar is a proxy that changes answers.
func liar(t *testing.T, to string, change func(path string, body []byte) []byte) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Del("Accept-Encoding") // answers are plain here
	}}
	p.ModifyResponse = func(r *http.Response) error {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		body = change(r.Request.URL.Path, body)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Del("Content-Length")
		return nil
	}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return server.URL
}

// TestConformanceNamesWhatIsWrong: a service that counts one message too few, in one answer, is
// told which story says so, and how it goes.
func TestConformanceNamesWhatIsWrong(t *testing.T) {
	s := stack(t)
	wrong := liar(t, s.URL, func(path string, body []byte) []byte {
		if !strings.HasSuffix(path, "/GetUnread") {
			return body
		}
		return bytes.Replace(body, []byte(`"unread":7,`), []byte(`"unread":6,`), 1)
	})
	story := []string{"--story", "museum-16", "--story", "seed/mark-read-up-to-a-time*", "--story", "rules/membership*"}
	if r := tidemark(t, "", append([]string{"conformance", "--target", wrong}, story...)...); r.code != exitDone || strings.Contains(r.out, "differs") {
		t.Fatalf("no answer of these stories is changed: %+v", r)
	}
	wrong = liar(t, s.URL, func(path string, body []byte) []byte {
		if !strings.HasSuffix(path, "/GetUnread") {
			return body
		}
		return bytes.Replace(body, []byte(`"unread":3,`), []byte(`"unread":2,`), 1)
	})
	r := tidemark(t, "", "conformance", "--target", wrong, "--story", "museum-16", "--story", "museum-4")
	if r.code != exitFailed || !strings.Contains(r.errout, "answers differ from the stories") {
		t.Errorf("exit %d: %s", r.code, r.errout)
	}
	for _, want := range []string{
		"ok       museum-4 ", "differs  museum-16 ", "    | b posts m1..m3\n    | ? a\n    the story says: a: 3 unread from m1 | read nothing\n",
		"      unread: got 2, want 3\n", `    the call: GetUnread {"channel_id":"conf-`, "2 stories told to " + wrong, "1 ok, 1 differ",
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is not in\n%s", want, r.out)
		}
	}
	r = tidemark(t, "", "conformance", "--target", wrong, "--story", "museum-16", "--json")
	var got conformance.Result
	if err := json.Unmarshal([]byte(lines(r.out)[0]), &got); err != nil {
		t.Fatal(err)
	}
	if r.code != exitFailed || got.Name != "museum-16" || got.OK || len(got.Differences) != 1 || got.Differences[0] != (conformance.Difference{Field: "unread", Got: "2", Want: "3"}) {
		t.Errorf("exit %d: %+v", r.code, got)
	}
}

// TestConformanceWithoutTokens: of a service that gives none, the right answer is waited for; a
// wrong one is one when the time is over.
func TestConformanceWithoutTokens(t *testing.T) {
	s := stack(t)
	late := liar(t, s.URL, func(path string, body []byte) []byte {
		if strings.HasSuffix(path, "/Publish") {
			return []byte(`{}`)
		}
		return body
	})
	if r := runConformance(t, "--target", late, "--story", "museum-4*"); r.code != exitDone {
		t.Errorf("exit %d: %s\n%s", r.code, r.errout, r.out)
	}
	never := liar(t, late, func(path string, body []byte) []byte {
		if strings.HasSuffix(path, "/GetUnread") {
			return bytes.Replace(body, []byte(`"unread":3,`), []byte(`"unread":2,`), 1)
		}
		return body
	})
	r := tidemark(t, "", "conformance", "--target", never, "--timeout", "1s", "--story", "museum-16")
	if r.code != exitFailed || !strings.Contains(r.out, "museum-16") || !strings.Contains(r.out, "0 ok, 1 differ") {
		t.Errorf("exit %d: %s\n%s", r.code, r.errout, r.out)
	}
}

func TestConformanceSaysWhatItCannotAsk(t *testing.T) {
	noAPI := httptest.NewServer(http.NotFoundHandler())
	defer noAPI.Close()
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitFailed, "no service answers at http://127.0.0.1:1", []string{"--target", "http://127.0.0.1:1"}},
		{exitFailed, "does not answer as a service of this API does (GetInbox: HTTP 404 without a code of the API)", []string{"--target", noAPI.URL}},
		{exitUsage, "name the service with --target URL", nil},
		{exitUsage, "--story nothing: there is no such story", []string{"--target", noAPI.URL, "--story", "nothing"}},
		{exitUsage, "is not the URL of a node", []string{"--target", "nowhere"}},
		{exitUsage, "must be above 0", []string{"--timeout", "0s"}},
	} {
		if r := tidemark(t, "", append([]string{"conformance"}, c.args...)...); r.code != c.code || !strings.Contains(r.errout, c.want) {
			t.Errorf("%v: %+v, want %d and %q", c.args, r, c.code, c.want)
		}
	}
	if out := ok(t, "", "conformance", "--list"); !strings.Contains(out, "museum-16 ") || !strings.Contains(out, "wish/msc2867") {
		t.Errorf("the list has not all stories:\n%s", out)
	}
	if out := ok(t, "", "conformance", "--list", "--json", "--story", "wish/element-desktop-1213*"); !strings.Contains(out, `"product":"element-desktop","issue":"1213"`) {
		t.Errorf("where the story is from is missing:\n%s", out)
	}
}
