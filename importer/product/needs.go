package product

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// table is a table to read.
type table struct {
	name, query string
	columns     []string
	as          func(fields, *importer.Event) bool
}

// all reads tables in order. Each must exist; what names the source that has all of them.
func (r *reading) all(ctx context.Context, list []table, what string) error {
	for _, t := range list {
		found, err := r.table(ctx, t.name, t.query, t.columns, t.as)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("the source has no table %s: is it %s?", t.name, what)
		}
	}
	return nil
}

// need is a table whose columns the queries of a product name.
type need struct {
	table    string
	columns  string            // separated by spaces
	since    map[string]string // the version of the product that added a column
	optional bool              // older versions of the product lack the table
}

// check returns the tables that a database has and that its user may read. Without this check, the
// first query of a missing column would end the transaction. A folder has no catalog, so check
// returns nil for it.
func check(ctx context.Context, tables source.Tables, product string, needs []need) (has map[string]bool, err error) {
	var names []string
	for _, n := range needs {
		names = append(names, n.table)
	}
	columns, denied := map[string]bool{}, map[string]bool{}
	has = map[string]bool{}
	found, err := tables.Rows(ctx, "catalog", `
		SELECT c.relname AS table_name, a.attname AS column_name, has_column_privilege(c.oid, a.attnum, 'SELECT') AS readable
		FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
		WHERE a.attnum > 0 AND NOT a.attisdropped AND pg_catalog.pg_table_is_visible(c.oid) AND c.relname IN (`+literals(names)+")",
		func(row *source.Row) error {
			name := row.Text("table_name")
			has[name] = true
			columns[name+"."+row.Text("column_name")] = true
			if row.Text("readable") != "t" {
				denied[name+"."+row.Text("column_name")] = true
			}
			return nil
		})
	if err != nil || !found {
		return nil, err
	}
	var missing, closed []string
	for _, n := range needs {
		if !has[n.table] && !n.optional {
			missing = append(missing, n.table)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the source has no table %s: is it the database of %s, with its schema in the search_path?", strings.Join(missing, ", "), product)
	}
	for _, n := range needs {
		if !has[n.table] {
			continue
		}
		for column := range strings.FieldsSeq(n.columns) {
			name := n.table + "." + column
			switch {
			case !columns[name] && n.since[column] != "":
				return nil, fmt.Errorf("the source has no column %s, which %s has since %s: update %s first, then import", name, product, n.since[column], product)
			case !columns[name]:
				return nil, fmt.Errorf("the source has no column %s: is it the database of a current %s?", name, product)
			case denied[name] && !slices.Contains(closed, n.table):
				closed = append(closed, n.table)
			}
		}
	}
	if len(closed) > 0 {
		return nil, fmt.Errorf("the user of --source may not read %s: GRANT SELECT ON %[1]s TO that user", strings.Join(closed, ", "))
	}
	return has, nil
}
