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

// NewRow makes a row of a table. A field is NULL where its value is NULL itself.
func NewRow(table string, number int64, fields map[string]string) *Row {
	r := &Row{Table: table, Number: number}
	for name := range fields {
		r.columns = append(r.columns, name)
	}
	slices.Sort(r.columns)
	for _, name := range r.columns {
		r.values, r.null = append(r.values, fields[name]), append(r.null, false)
	}
	return r
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
