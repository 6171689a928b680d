package node_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/sqlsink"
)

// A node with the roles processor and sql writes what it folds into its tables. While the database
// is restarted, blocks each statement, or has a full disk, the node goes on answering, and the
// tables follow.
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

	blocking, err := pgx.Connect(within(t), db.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = blocking.Close(within(t)) }()
	tx, err := blocking.Begin(within(t))
	if err == nil {
		_, err = tx.Exec(within(t), "LOCK TABLE tidemark.unread IN SHARE MODE") // it can be read
	}
	if err != nil {
		t.Fatal(err)
	}
	wantUnread(t, r, "ann", publish(t, r, third), 2)
	expect("ann 1, bob 0")
	if err := tx.Rollback(within(t)); err != nil {
		t.Fatal(err)
	}
	expect("ann 2, bob 0")

	testkit.SQL(t, db.DSN, `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		RAISE 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
		CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON tidemark.unread FOR EACH ROW EXECUTE FUNCTION full_disk()`)
	wantUnread(t, r, "ann", publish(t, r, fourth), 3)
	until(t, func() error {
		if _, body := get(t, r.url+"/readyz"); !strings.Contains(body, "No space left on device") {
			return fmt.Errorf("/readyz does not name the full disk: %s", body)
		}
		return nil
	})
	expect("ann 2, bob 0")
	wantUnread(t, r, "ann", nil, 3)
	testkit.SQL(t, db.DSN, "DROP TRIGGER full_disk ON tidemark.unread")
	expect("ann 3, bob 0")
}
