package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// A comparison that goes on serves the numbers of each bucket: those of the example, and then those
// after somebody has set one right. With --json it prints what is new.
func TestCompareFollows(t *testing.T) {
	s := stack(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "docs", "import", "example"))); err != nil {
		t.Fatal(err)
	}
	at := []string{"table", "--source", dir, "--brokers", s.Broker}
	ok(t, "", append([]string{"import"}, at...)...)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended, addr := make(chan result, 1), closedPort(t)
	go func() {
		ended <- tidemarkUntil(ctx, append([]string{"compare", "--addr", s.URL, "--follow", "--every", "20ms", "--listen", addr, "--json"}, at...)...)
	}()
	await := func(want string) {
		t.Helper()
		testkit.Await(t, want, func() bool {
			res, err := http.Get("http://" + addr + "/metrics")
			if err != nil {
				return false
			}
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			return err == nil && strings.Contains(string(text), want)
		})
	}
	await(`tidemark_compare_pairs{bucket="theirs_wrong"} 2`)
	counts := filepath.Join(dir, "counts.csv")
	text, err := os.ReadFile(counts)
	if err != nil {
		t.Fatal(err)
	}
	// In one step: a comparison must not read half of it.
	if err := os.WriteFile(counts+".new", []byte(strings.ReplaceAll(string(text), "-1", "3")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(counts+".new", counts); err != nil {
		t.Fatal(err)
	}
	await(`tidemark_compare_pairs{bucket="theirs_wrong"} 1`)
	if err := os.Remove(counts); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "a comparison that fails is told", func() bool {
		res, err := http.Get("http://" + addr + "/readyz")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return err == nil && strings.Contains(string(text), "the last comparison failed: the source has no counts")
	})
	stop()
	r := <-ended
	if r.code != exitDone || strings.Count(r.out, `"theirs_wrong"`) != 2 || strings.Count(r.out, `"policy"`) != 1 || !strings.Contains(r.errout, "theirs_wrong=2") {
		t.Errorf("stopped: %+v", r)
	}
	for want, args := range map[string][]string{
		"--follow serves metrics: name the address":                {"--follow"},
		"--listen is for --follow":                                 {"--listen", "127.0.0.1:0"},
		"--every 0s: it must be longer than 0":                     {"--every", "0s"},
		"cannot listen on " + strings.TrimPrefix(s.URL, "http://"): {"--follow", "--listen", strings.TrimPrefix(s.URL, "http://")},
	} {
		if r := tidemark(t, "", append(append([]string{"compare"}, at...), args...)...); r.code == exitDone || !strings.Contains(r.errout, want) {
			t.Errorf("%v: want %q: %+v", args, want, r)
		}
	}
}
