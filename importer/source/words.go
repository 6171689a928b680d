package source

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Codes of PostgreSQL's errors.
const (
	noSuchTable  = "42P01"
	noSuchColumn = "42703"
	noRight      = "42501"
	wrongLogin   = "28" // a class
	tooManyIn    = "53300"
	conflict     = "40001"
	noSuchObject = "42704"
	exists       = "42710"
	inUse        = "55006"
	tooManySlots = "53400"
)

// ErrUnfit marks the error of a query that does not fit the database: it names something that the
// database lacks, or compares values that cannot be compared.
var ErrUnfit = errors.New("the query does not fit the database")

// unfit is such an error.
type unfit struct{ error }

// Is reports whether the target is ErrUnfit.
func (unfit) Is(target error) bool { return target == ErrUnfit }

// syntaxOrAccess is the class of errors of queries that cannot work, and of missing rights.
const syntaxOrAccess = "42"

// inWords adds a remedy to an error of a database.
func inWords(what string, err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return fmt.Errorf("%s: %w", what, err)
	}
	switch {
	case pg.Code == noSuchTable || pg.Code == noSuchColumn:
		return unfit{fmt.Errorf("%s: the database says: %s: is it the database of this product, and the schema in the search_path? "+
			"A mapping names tables and columns as the database has them", what, pg.Message)}
	case pg.Code == noRight && strings.Contains(pg.Message, "replication"):
		return fmt.Errorf("%s: the user of --source may not replicate (%s): ALTER ROLE that user REPLICATION", what, pg.Message)
	case pg.Code == exists:
		return fmt.Errorf("%s: the database already has a slot of this name: remove it with `tidemark import --drop-slot`, or name another one", what)
	case pg.Code == inUse:
		return fmt.Errorf("%s: another bridge is reading it (%s): stop that bridge first", what, pg.Message)
	case pg.Code == tooManySlots:
		return fmt.Errorf("%s: all replication slots of the database are in use: raise max_replication_slots there, or remove one that nobody reads "+
			"(pg_replication_slots)", what)
	case pg.Code == noRight:
		return fmt.Errorf("%s: the user of --source may not read it (%s): GRANT SELECT ON ALL TABLES IN SCHEMA public TO that user", what, pg.Message)
	case strings.HasPrefix(pg.Code, wrongLogin):
		return fmt.Errorf("%s: the login of --source is refused: %s", what, pg.Message)
	case pg.Code == tooManyIn:
		return fmt.Errorf("%s: the database accepts no more connections, and an import needs one", what)
	case pg.Code == conflict:
		return fmt.Errorf("%s: the database cancelled the query (%s): a standby does so when vacuum waits too long; max_standby_streaming_delay = -1 "+
			"there, or the primary as --source", what, pg.Message)
	}
	err = fmt.Errorf("%s: the database says: %s (%s)", what, pg.Message, pg.Code)
	if strings.HasPrefix(pg.Code, syntaxOrAccess) {
		return unfit{err}
	}
	return err
}
