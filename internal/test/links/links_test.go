package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLinksOf(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"README.md": "See [Kafka](https://kafka.example.org/docs), https://a.test.org/b. And `https://a.test.org/code`, http://127.0.0.1:8080/x,\n" +
			"https://id.example.com/keys, http://node:8080, http://$POD_IP:8080, " + own + "/blob/main/README.md.",
		"docs/page.md": "| [b](https://a.test.org/b) |",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	links, err := linksOf(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range links {
		got = append(got, l.String())
	}
	want := []string{"https://a.test.org/b in README.md, docs/page.md", "https://a.test.org/code in README.md"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The documents have links to other sites, and each is found.
func TestLinksOfTheDocuments(t *testing.T) {
	links, err := linksOf("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(links) < 10 || !slices.ContainsFunc(links, func(l link) bool { return strings.HasPrefix(l.url, "https://keepachangelog.com/") }) {
		t.Errorf("%d links: %v", len(links), links)
	}
}

func TestReport(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/here", http.StatusMovedPermanently)
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
		case "/forbidden":
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer server.Close()
	var out strings.Builder
	at := func(path string) link { return link{server.URL + path, []string{"README.md"}} }
	if !report(t.Context(), &out, server.Client(), []link{at("/here"), at("/moved"), at("/forbidden"), {"http://127.0.0.1:1/", nil}}) {
		t.Errorf("nothing is dead:\n%s", out.String())
	}
	if want := "4 links: 2 alive, 0 dead, 1 unclear, 1 not reached\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("%s, want %s", out.String(), want)
	}
	out.Reset()
	if report(t.Context(), &out, server.Client(), []link{at("/here"), at("/gone")}) || !strings.Contains(out.String(), "/gone in README.md (404 Not Found)") {
		t.Errorf("/gone is dead:\n%s", out.String())
	}
}
