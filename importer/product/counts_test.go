package product

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// numbers returns the numbers of a product, and its problems.
func numbers(t *testing.T, p importer.Counter, users ...string) (all string, problems []importer.Problem, err error) {
	t.Helper()
	var collected importer.Problems
	var list []string
	err = p.Counts(t.Context(), users, &collected, func(n importer.Count) error {
		text := strings.TrimRight(n.User+" "+n.Channel+" "+n.Thread, " ") + fmt.Sprintf(": %d", n.Unread)
		if n.Mentions != nil {
			text += fmt.Sprintf(" %d", *n.Mentions)
		}
		list = append(list, text)
		return nil
	})
	slices.Sort(list)
	return strings.Join(list, ", "), collected.List(), err
}

// A team's own numbers come from a file, as stored. Rows without a number are left out.
func TestNumbersOfATable(t *testing.T) {
	f := folder(t, map[string]string{"counts.csv": "channel_id,user_id,thread_id,unread,mentions\nc1,ann,,-3,1\nc1,ann,m1,2,\nc1,bob,,,4\nc1,cem,,many,0\n"})
	got, problems, err := numbers(t, &Table{Source: f})
	if err != nil || got != "ann c1 m1: 2, ann c1: -3 1" || len(problems) != 1 || !strings.Contains(problems[0].First[0], `counts:4 "many"`) {
		t.Errorf("%q, %+v, %v", got, problems, err)
	}
	if got, _, err := numbers(t, &Table{Source: f}, "bob", "cem"); err != nil || got != "" {
		t.Errorf("of others: %q, %v", got, err)
	}
	for want, text := range map[string]string{"the source has no counts": "", "counts has no column unread": "channel_id,user_id\nc,u\n"} {
		files := map[string]string{"messages.csv": "x\n"}
		if text != "" {
			files["counts.csv"] = text
		}
		if _, _, err := numbers(t, &Table{Source: folder(t, files)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Mattermost stores the numbers of channels, and computes those of threads.
func TestNumbersOfMattermost(t *testing.T) {
	dsn := testkit.Postgres(t)
	testkit.SQL(t, dsn, mattermost+`
ALTER TABLE channels ADD totalmsgcountroot bigint DEFAULT 0;
ALTER TABLE channelmembers ADD msgcountroot bigint DEFAULT 0, ADD mentioncountroot bigint DEFAULT 0;
ALTER TABLE threadmemberships ADD unreadmentions bigint DEFAULT 0;
UPDATE channels SET totalmsgcountroot = 3 WHERE id = 'c1';
UPDATE channelmembers SET msgcountroot = 4, mentioncountroot = 2 WHERE userid = 'u1';
UPDATE threadmemberships SET unreadmentions = 1;
INSERT INTO posts VALUES ('p7', 1700000009000, 0, 'u3', 'c1', 'p1', '', 'reply', '');
`)
	db, err := source.OpenPostgres(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	m := &Mattermost{Source: db}
	if got, problems, err := numbers(t, m); err != nil || len(problems) > 0 || got != "u1 c1: -1 2, u2 c1 p1: 1 1, u2 c1: 3 0" {
		t.Errorf("%q, %v, %v", got, problems, err)
	}
	if got, _, err := numbers(t, m, "u2"); err != nil || got != "u2 c1 p1: 1 1, u2 c1: 3 0" {
		t.Errorf("of one: %q, %v", got, err)
	}
}
