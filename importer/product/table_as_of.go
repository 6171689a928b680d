package product

import (
	"context"
	"encoding/json"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidemark/tidemark/importer/source"
)

// TableLive maps changes of a team's own tables. It runs the queries of the mapping again, with the
// changed row in the place of its table (table_as_of.go). So the mapping of an import serves here,
// too. It leaves out facts that it has already written, as far as the bridge remembers them.
//
// Times of members, pointers and mutes are those of the commits, which rise. Messages and follows
// keep their own times, because pointers and follows refer to them.
type TableLive struct {
	Table
	changing map[string]Changing

	direct   memory[bool]   // channels
	newest   memory[string] // the last seen message, by channel
	members  memory[int64]  // since when, by channel and user; -1: not
	viewed   memory[string] // pointers, by channel, user and thread
	muted    memory[bool]   // by channel and user
	followed memory[int64]  // since when, by channel, thread and user; -1: not
	written  memory[uint64] // written messages, by channel and id
	seed     maphash.Seed
	types    map[string]map[string]string // of columns, by table
}

// NewTableLive returns the mapper of a team's own tables.
func NewTableLive(m Mapping, changing map[string]Changing, now source.Tables) *TableLive {
	return &TableLive{Table: Table{Source: now, Mapping: m}, changing: changing, seed: maphash.MakeSeed()}
}

// from returns the SQL of a table for queries that read from it.
func (t *TableLive) from(table string) string {
	return "(" + strings.TrimRight(t.Mapping[table], "; \n\t") + "\n) AS live"
}

// Check looks up the types of the columns, and runs each query on a row that does not exist. So a
// mapping that does not fit the database fails before the bridge follows anything.
func (t *TableLive) Check(ctx context.Context) error {
	t.types = map[string]map[string]string{}
	tables := slices.Sorted(maps.Keys(t.changing))
	_, err := t.Source.Rows(ctx, "catalog", `
		SELECT c.relname AS table_name, a.attname AS column_name, pg_catalog.format_type(a.atttypid, NULL) AS type
		FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
		WHERE a.attnum > 0 AND NOT a.attisdropped AND pg_catalog.pg_table_is_visible(c.oid) AND c.relname IN (`+literals(tables)+")",
		func(row *source.Row) error {
			table := row.Text("table_name")
			if t.types[table] == nil {
				t.types[table] = map[string]string{}
			}
			t.types[table][row.Text("column_name")] = row.Text("type")
			return nil
		})
	if err != nil {
		return err
	}
	for _, table := range tables {
		c := t.changing[table]
		for _, query := range slices.Concat(c.Gives, c.Edits) {
			sql := t.asOf(source.NewRow(table, 1), nil) + "SELECT live.* FROM " + t.from(query) + ", " + identifier(table) + " AS changed WHERE false"
			for _, column := range slices.Sorted(maps.Keys(c.By)) {
				sql += " AND live." + column + "::text = changed." + identifier(c.By[column]) + "::text"
			}
			if _, err := t.Source.Rows(ctx, "live: "+table+": "+query, sql, func(*source.Row) error { return nil }); err != nil {
				return err
			}
		}
	}
	return nil
}

// asOf returns the beginning of a query that reads one row in the place of its table, as the row
// was after its change, because the table itself may be newer. Large unchanged columns come from
// the table; by finds the row there.
func (t *TableLive) asOf(row *source.Row, by map[string]string) string {
	values := map[string]any{}
	for _, column := range row.Columns() {
		text, ok := row.Get(column)
		if values[column] = nil; ok {
			values[column] = t.value(row.Table, column, text)
		}
	}
	base := "NULL::" + identifier(row.Table)
	if len(values) < len(t.types[row.Table]) && len(by) > 0 {
		base = "(SELECT base FROM " + identifier(row.Table) + " AS base WHERE true"
		for _, query := range slices.Sorted(maps.Keys(by)) {
			base += " AND base." + identifier(by[query]) + " = " + Literal(row.Text(by[query]))
		}
		base += " LIMIT 1)"
	}
	text, _ := json.Marshal(values) // of texts
	return "WITH " + identifier(row.Table) + " AS (SELECT changed.* FROM pg_catalog.jsonb_populate_record(" + base + ", " + Literal(string(text)) + ") AS changed) "
}

// value returns the text of a field in PostgreSQL's form. Debezium writes times without a zone as
// numbers, and arrays as JSON.
func (t *TableLive) value(table, column, text string) any {
	kind := t.types[table][column]
	switch {
	case (kind == "json" || kind == "jsonb") && json.Valid([]byte(text)):
		return json.RawMessage(text)
	case strings.HasSuffix(kind, "[]") && strings.HasPrefix(text, "[") && json.Valid([]byte(text)):
		return json.RawMessage(text)
	case strings.HasPrefix(kind, "timestamp") && text != "" && strings.Trim(text, "0123456789") == "":
		if millis, ok := at(text); ok {
			return time.UnixMilli(millis).UTC().Format("2006-01-02 15:04:05.000")
		}
	}
	return text
}

// identifier returns a name in SQL.
func identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
