package product

import (
	"context"
	"maps"
	"slices"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// tableChange is a change of one row.
type tableChange struct {
	*TableLive
	ctx    context.Context
	kind   source.ChangeKind
	f      fields
	key    map[string]string // ids that the row has
	with   string            // lets queries read the row in the place of its table
	commit int64
	emit   Emit
}

func (x *tableChange) send(e *importer.Event) error { return x.emit(x.f.origin(), e) }

// changed returns the rows of a table that result from the changed row, as events.
func (x *tableChange) changed(table string, as func(fields, *importer.Event) bool) (all []importer.Event, err error) {
	return x.run(table, x.with+x.selects(table, x.key), as)
}

// rows returns the current rows of a table with the ids of the key, as events.
func (x *tableChange) rows(table string, key map[string]string, as func(fields, *importer.Event) bool) (all []importer.Event, err error) {
	return x.run(table, x.selects(table, key), as)
}

func (x *tableChange) selects(table string, key map[string]string) string {
	sql := "SELECT live.* FROM " + x.from(table) + " WHERE true"
	for _, column := range slices.Sorted(maps.Keys(key)) {
		sql += " AND live." + column + " = " + Literal(key[column])
	}
	return sql
}

func (x *tableChange) run(table, sql string, as func(fields, *importer.Event) bool) (all []importer.Event, err error) {
	_, err = x.Source.Rows(x.ctx, table, sql, func(row *source.Row) error {
		var e importer.Event
		if as(fields{row, x.f.problems}, &e) {
			all = append(all, e)
		}
		return nil
	})
	return all, err
}

// whole reports whether the key finds a row even after its removal.
func (x *tableChange) whole(columns ...string) bool {
	for _, column := range columns {
		if x.key[column] == "" {
			return false
		}
	}
	return true
}

// gone adds the problem of a removed row that does not identify its object.
func (x *tableChange) gone(what string) {
	if x.kind == source.Removed {
		x.f.problems.Add(x.f.origin(), "a row was removed, and its key does not name the channel: "+what+" stays; REPLICA IDENTITY FULL of the table helps, "+
			"with that column in by", x.f.String())
	}
}
