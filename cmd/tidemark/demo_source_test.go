package main

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/importer/demo"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// A folder that demo-source makes is the example of the documentation. It overwrites nothing.
func TestDemoFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "export")
	if out := ok(t, "", "demo-source", "table", "--source", dir); out != dir+" has 5 files\n" {
		t.Errorf("%q", out)
	}
	if out := ok(t, "", "import", "table", "--source", dir, "--dry-run"); !strings.Contains(out, "messages     6 rows\n") && !strings.Contains(out, "messages  6 rows\n") {
		t.Errorf("%s", out)
	}
	for want, args := range map[string][]string{
		"has a file channels.csv already: name another folder":         {"table", "--source", dir},
		"--source of synapse is the postgres:// address of a database": {"synapse", "--source", dir},
		"--play needs a database, and --source is a folder":            {"table", "--source", dir, "--play"},
		"--source has a password":                                      {"synapse", "--source", "postgres://u:p@h/d"},
		"--every 0s: it must be longer than 0":                         {"synapse", "--source", "postgres://u@h/d", "--every", "0s"},
	} {
		if r := tidemark(t, "", append([]string{"demo-source"}, args...)...); r.code == exitDone || !strings.Contains(r.errout, want) {
			t.Errorf("%v: want %q: %+v", args, want, r)
		}
	}
}

// The tables of demo-source are imported, a bridge follows what --play does there, and the numbers
// that were right before are right again.
func TestDemoDatabases(t *testing.T) {
	s, dsn := stack(t), testkit.Postgres(t)
	// The import of synapse needs empty topics, so it is the first.
	for _, product := range []string{"synapse", "table"} {
		testkit.SQL(t, dsn, "CREATE DATABASE demo_"+product)
		at := strings.TrimSuffix(dsn, "/postgres") + "/demo_" + product
		if out := ok(t, "", "demo-source", product, "--source", at); !strings.Contains(out, "/demo_"+product+" has the tables of a small ") {
			t.Errorf("%s", out)
		}
		if r := tidemark(t, "", "demo-source", product, "--source", at); r.code != exitFailed || !strings.Contains(r.errout, "already exists), and nothing was changed") {
			t.Errorf("once more: %+v", r)
		}
		args := []string{product, "--source", at, "--slot", "demo_" + product, "--brokers", s.Broker}
		if product == "table" {
			args = append(args, "--mapping", filepath.Join(root, "docs/import/table.yml"))
		}
		imports := append([]string{"import"}, args...)
		if product == "table" {
			imports = append(imports, "--beside")
		}
		_, sql, _ := strings.Cut(tidemark(t, "", imports...).errout, ":\n")
		testkit.SQL(t, at, sql)
		ok(t, "", imports...)

		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan result, 2)
		go func() { ended <- tidemarkUntil(ctx, append([]string{"bridge"}, args...)...) }()
		go func() {
			ended <- tidemarkUntil(ctx, "demo-source", product, "--source", at, "--play", "--every", "10ms")
		}()
		channel := "1"
		if product == "synapse" {
			channel = "!general:here"
		}
		eventually(t, "going on", "query", "channel", channel, "--addr", s.URL)
		stop()
		for range 2 {
			if r := <-ended; r.code != exitDone {
				t.Errorf("stopped: %+v", r)
			}
		}
		ok(t, "", append(imports, "--drop-slot", "--yes")...)
	}
}

// A story goes on in its tables without an error, whatever users do.
func TestDemoSteps(t *testing.T) {
	dsn := testkit.Postgres(t)
	for _, product := range []string{"synapse", "table"} {
		testkit.SQL(t, dsn, "DROP SCHEMA public CASCADE; CREATE SCHEMA public;"+demo.SQL(product, time.Now()))
		r := rand.New(rand.NewPCG(1, 1))
		for range 50 {
			testkit.SQL(t, dsn, demo.Step(product, r, time.Now()))
		}
	}
}
