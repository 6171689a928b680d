package source

import (
	"context"
	"slices"
	"strings"
)

// Row is a row as text. It is valid until the next row is read.
type Row struct {
	Table  string
	Number int64 // from 1

	columns []string
	values  []string
	null    []bool
}

// NewRow returns a row with these columns and their values.
func NewRow(table string, number int64, fields ...string) *Row {
	r := &Row{Table: table, Number: number}
	for i := 0; i+1 < len(fields); i += 2 {
		r.columns, r.values, r.null = append(r.columns, fields[i]), append(r.values, fields[i+1]), append(r.null, false)
	}
	return r
}

// With returns a copy of the row that has another column as well.
func (r *Row) With(column, value string) *Row {
	return &Row{
		Table: r.Table, Number: r.Number,
		columns: append(slices.Clone(r.columns), column), values: append(slices.Clone(r.values), value), null: append(slices.Clone(r.null), false),
	}
}

// Get returns the text of a field. It reports false if the row has no such column, or NULL in it.
func (r *Row) Get(column string) (text string, ok bool) {
	for i, name := range r.columns {
		if name == column {
			return r.values[i], !r.null[i]
		}
	}
	return "", false
}

// Text returns the text of a field, or "" if the field is NULL or missing.
func (r *Row) Text(column string) string {
	text, _ := r.Get(column)
	return text
}

// Has reports whether the table has the column.
func (r *Row) Has(column string) bool { return slices.Contains(r.columns, column) }

// Columns returns the names of the columns.
func (r *Row) Columns() []string { return r.columns }

// String returns the row for error texts: its fields in order.
func (r *Row) String() string {
	var b strings.Builder
	for i, name := range r.columns {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(name + "=" + r.values[i])
	}
	return b.String()
}

// Tables is a source of rows.
type Tables interface {
	// Rows calls fn for each row of a table, in any order. query is the SQL that selects them;
	// sources that are not databases ignore it. Rows reports false if the source has no such table.
	Rows(ctx context.Context, table, query string, fn func(*Row) error) (found bool, err error)
	// Close releases the source.
	Close(ctx context.Context) error
}
