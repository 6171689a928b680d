package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/tidemark/tidemark/app/rebuild"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
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
