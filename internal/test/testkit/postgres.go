package testkit

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/tidemark/tidemark/internal/test/testkit/servers"
)

// Postgres starts a PostgreSQL for this test, which takes about two seconds, and stops it at the
// end of the test. It returns the address of a database whose user has all rights.
func Postgres(t testing.TB) (dsn string) {
	t.Helper()
	NeedsServer(t)
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	p, err := servers.StartPostgres(ctx)
	if err != nil {
		t.Fatalf("PostgreSQL for tests: %v", err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("end PostgreSQL: %v", err)
		}
	})
	return p.DSN("postgres")
}

// SQL runs statements in the database at an address.
func SQL(t testing.TB, dsn, statements string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }() // the statements have ended
	if _, err := conn.Exec(t.Context(), statements, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("%v in\n%s", err, statements)
	}
}
