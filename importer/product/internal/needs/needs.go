package needs

import (
	"context"

	"github.com/tidemark/tidemark/importer/product/internal/quote"
	"github.com/tidemark/tidemark/importer/source"
)

// Table is a table whose columns the queries of a product name.
type Table struct {
	Name     string
	Columns  string            // separated by spaces
	Since    map[string]string // the version of the product that added a column
	Added    string            // the version that added the table
	Optional bool              // older versions of the product lack the table
}

// relation is the catalog's information about a table.
type relation struct {
	schema   string
	visible  bool // in the search_path
	usable   bool // its schema is
	columns  map[string]bool
	readable map[string]bool // columns
}

// LackError is the error of a table, a column or a right that is missing.
type LackError struct{ error }

// Check returns the tables that a database has and that its user may read. Without this check, the
// first query of a missing column would end the transaction. A folder has no catalog, so Check
// returns nil for it.
func Check(ctx context.Context, from source.Tables, product string, list []Table) (has map[string]bool, err error) {
	found, user, err := catalog(ctx, from, list)
	if err != nil || found == nil {
		return nil, err
	}
	if err := missing(product, user, list, found); err != nil {
		return nil, LackError{err}
	}
	has = map[string]bool{}
	for name, r := range found {
		if has[name] = r.visible; !r.visible {
			delete(has, name)
		}
	}
	return has, nil
}

// catalog returns the relations with the names of the tables, and the user of the connection. Of
// several with one name it returns the visible one, or else any. It returns nil for a folder.
func catalog(ctx context.Context, from source.Tables, list []Table) (found map[string]*relation, user string, err error) {
	var names []string
	for _, t := range list {
		names = append(names, t.Name)
	}
	all := map[string]*relation{}
	database, err := from.Rows(ctx, "catalog", `
		SELECT n.nspname AS schema_name, c.relname AS table_name, a.attname AS column_name, pg_catalog.pg_table_is_visible(c.oid) AS visible,
			pg_catalog.has_schema_privilege(n.oid, 'USAGE') AS usable, pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT') AS readable, current_user::text AS name
		FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relname IN (`+quote.Literals(names)+`)
		ORDER BY visible DESC, n.nspname, c.relname`,
		func(row *source.Row) error {
			name, schema := row.Text("table_name"), row.Text("schema_name")
			r := all[name]
			if user = row.Text("name"); r == nil {
				r = &relation{schema: schema, visible: row.Text("visible") == "t", usable: row.Text("usable") == "t", columns: map[string]bool{}, readable: map[string]bool{}}
				all[name] = r
			}
			if r.schema == schema {
				column := row.Text("column_name")
				r.columns[column], r.readable[column] = true, row.Text("readable") == "t"
			}
			return nil
		})
	if err != nil || !database {
		return nil, "", err
	}
	return all, user, nil
}
