package node_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/sqlsink"
)

// A node with the roles processor and sql writes what it folds into its tables. While the database
// is restarted it goes on answering, and the tables follow.
func TestTheRoleSQL(t *testing.T) {
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs()}
	db := testkit.RestartablePostgres(t)
	addr, err := sqlsink.ParseAddress(db.DSN, "")
	if err != nil {
		t.Fatal(err)
	}
	c := options(t, env, testkit.Topics(t, env.Brokers, 2, 1), "sql", config.RoleProcessor, config.RoleQuery, config.RoleSQL)
	c.SQL, c.SQLFlush = addr, sqlsink.Flush{Every: 20 * time.Millisecond, Rows: 1000}
	r := run(t, c)
	awaitReady(t, r, 2)
	expect := func(want string) {
		t.Helper()
		until(t, func() error {
			conn, err := pgx.Connect(within(t), db.DSN)
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close(within(t)) }() // it only reads
			var got string
			err = conn.QueryRow(within(t), "SELECT string_agg(user_id || ' ' || unread, ', ' ORDER BY user_id) FROM tidemark.inbox WHERE channel_id = 'general'").Scan(&got)
			if err == nil && got != want {
				err = fmt.Errorf("the tables say %s, want %s", got, want)
			}
			return err
		})
	}
	publish(t, r, joined+","+first)
	expect("ann 1, bob 0")
	db.Restart(false)
	wantUnread(t, r, "ann", publish(t, r, second), 2)
	expect("ann 2, bob 0")
	wantUnread(t, r, "ann", publish(t, r, seen), 1)
	expect("ann 1, bob 0")
}
