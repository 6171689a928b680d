package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/app/rebuild"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/sqlsink"
)

// With --json there is one object, whatever was compared.
func TestVerifyPrintsOneObject(t *testing.T) {
	for _, tables := range []*sqlsink.Verified{nil, {Rows: 7, Differences: 1}} {
		var out bytes.Buffer
		c := verifyCmd{JSONFlag: verbs.JSONFlag{JSON: true}}
		must(c.print(&verbs.App{Stdout: &out}, &rebuild.Result{Total: 2}, tables))
		var got struct {
			Total int
			SQL   *sqlsink.Verified
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Total != 2 || (got.SQL == nil) != (tables == nil) || tables != nil && got.SQL.Rows != 7 {
			t.Errorf("%s: %v", out.String(), err)
		}
	}
}

// verify --sql compares the tables of the role sql with the topics, and prints the rows that
// somebody has changed.
func TestVerifySQL(t *testing.T) {
	s := newSite(t, embedded(t), 2)
	dsn := testkit.Postgres(t)
	url, stop := s.run("--roles", "processor,cache,query,sql", "--sql", dsn, "--sql-flush", "20ms,1000")
	awaitReady(t, url)
	ok(t, story, "emit", "--brokers", s.broker)
	testkit.Await(t, "the tables agree with the topics", func() bool {
		r := tidemark(t, "", "verify", "--sql", dsn, "--node", url, "--brokers", s.broker, "--no-redis")
		return r.code == exitDone && strings.Contains(r.out, "compared, 0 differences") && !strings.Contains(r.out, "SQL: 0 rows") && !strings.Contains(r.out, "not compared")
	})
	testkit.SQL(t, dsn, "UPDATE tidemark.channels SET head_seq = head_seq + 5")
	r := tidemark(t, "", "verify", "--sql", dsn, "--node", url, "--brokers", s.broker, "--no-redis")
	if r.code != exitDifferences || !strings.Contains(r.out, "channels") || !strings.Contains(r.out, "general") {
		t.Errorf("a changed row: %+v", r)
	}
	stop()
}
