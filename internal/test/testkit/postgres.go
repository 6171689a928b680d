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
	return RestartablePostgres(t).DSN
}

// PostgresServer is a PostgreSQL that the test can restart.
type PostgresServer struct {
	// DSN is the address of a database whose user has all rights. A restart keeps it.
	DSN string

	t testing.TB
	p *servers.Postgres
}

// RestartablePostgres is Postgres for a test that restarts it.
func RestartablePostgres(t testing.TB) *PostgresServer {
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
	return &PostgresServer{DSN: p.DSN("postgres"), t: t, p: p}
}

// Restart restarts the server: in an orderly way, or as after a loss of power.
func (s *PostgresServer) Restart(orderly bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := s.p.Restart(ctx, orderly); err != nil {
		s.t.Fatalf("restart PostgreSQL: %v", err)
	}
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

// TxID returns the lower 32 bits of the number of a transaction that a database has committed.
func TxID(t testing.TB, dsn string) uint32 {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }() // it has ended
	var id int64
	if err := conn.QueryRow(t.Context(), "SELECT txid_current()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	return uint32(id) //nolint:gosec // the lower bits
}
