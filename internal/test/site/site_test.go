package main

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const root = "../../.."

// source matches the files of a site that a browser loads by itself.
var source = regexp.MustCompile(`<(?:script|img|iframe)[^>]* src="([^"]*)"|<link[^>]* rel="(?:stylesheet|preload|icon)"[^>]* href="([^"]*)"|<link[^>]* href="([^"]*)"[^>]* rel="(?:stylesheet|preload|icon)"`)

// TestSite: all links lead somewhere. Each page has its place, the search finds it, and it loads
// nothing from elsewhere.
func TestSite(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	to := t.TempDir()
	if err := build(ctx, root, to); err != nil {
		t.Fatal(err)
	}
	pages := 0
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		pages++
		rel, err := filepath.Rel(filepath.Join(root, "docs"), path)
		if err != nil {
			return err
		}
		page, err := os.ReadFile(filepath.Join(to, strings.TrimSuffix(rel, ".md")+".html")) //nolint:gosec // a file of the test
		if err != nil {
			return err
		}
		for _, m := range source.FindAllStringSubmatch(string(page), -1) {
			if from := m[1] + m[2] + m[3]; strings.Contains(from, "//") {
				t.Errorf("%s loads %s", rel, from)
			}
		}
		return nil
	})
	if err != nil || pages < 30 {
		t.Fatalf("%d pages, %v", pages, err)
	}

	text, err := os.ReadFile(filepath.Join(to, "search", "search_index.json")) //nolint:gosec // a file of the test
	if err != nil {
		t.Fatal(err)
	}
	var index struct {
		Docs []struct{ Location, Text string }
	}
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	for word, page := range map[string]string{"murmur2": "events.html", "useBadge": "tutorials/react.html", "TM017": "runbook.html", "HINCRBY": "comparison.html"} {
		found := false
		for _, d := range index.Docs {
			found = found || strings.HasPrefix(d.Location, page) && strings.Contains(d.Text, word)
		}
		if !found {
			t.Errorf("the search finds no %s in %s", word, page)
		}
	}
}
