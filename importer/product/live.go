package product

import (
	"context"
	"strconv"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// Emit receives an event of a row.
type Emit func(importer.Origin, *importer.Event) error

// Live maps the changes of a product's rows to events, by the mapping of its import. It looks up
// what a row refers to in the current database. In the end, its events give Tidemark the same state
// as an import of the last rows would.
type Live interface {
	// Transaction calls emit for each event of a transaction. It adds changes that cannot be mapped
	// to p.
	Transaction(ctx context.Context, tx *source.Transaction, p *importer.Problems, emit Emit) error
	// Divisible reports whether a large transaction may come in parts, because each change is
	// mapped on its own.
	Divisible() bool
}

// rowOf returns the mapping of one row for itself.
func rowOf(as func(fields, *importer.Event) bool) func(*source.Row, *importer.Problems) (importer.Event, bool) {
	return func(row *source.Row, p *importer.Problems) (e importer.Event, ok bool) {
		ok = as(fields{row, p}, &e)
		return e, ok
	}
}

// The mappings of rows for bridges in rooms of their own.
var (
	TinodeTopicDeleted = rowOf(tinodeTopicDeleted)
	TinodeMember       = rowOf(tinodeMember)
	TinodeMute         = rowOf(tinodeMute)
	TinodePost         = rowOf(tinodePost)
	ZulipPost          = rowOf(zulipPost)
)

// NewLive returns the mapper of a product's changes; nil if this package has none.
func NewLive(product string, now source.Tables) Live {
	switch product {
	case "mattermost":
		return &mattermostLive{Mattermost: Mattermost{Source: now}}
	case "synapse":
		return &synapseLive{Synapse: Synapse{Source: now}}
	case "discourse":
		return newDiscourseLive(now)
	}
	return nil
}

// Remembered is the largest number of values that Keep leaves in a memory.
const Remembered = 200_000

// Keep puts a value into a memory. A full memory forgets all others: it only saves work and
// records.
func Keep[K comparable, V any](memory map[K]V, key K, v V) {
	if len(memory) >= Remembered {
		clear(memory)
	}
	memory[key] = v
}

// memory remembers values by key, by the rule of Keep.
type memory[V comparable] struct{ of map[string]V }

func (m *memory[V]) get(key string) (V, bool) {
	v, ok := m.of[key]
	return v, ok
}

// set reports whether the value differs from the one before.
func (m *memory[V]) set(key string, v V) bool {
	if was, ok := m.of[key]; ok && was == v {
		return false
	}
	if m.of == nil {
		m.of = map[string]V{}
	}
	Keep(m.of, key, v)
	return true
}

// find returns the value of a key, which load finds if it is not remembered. It does not remember
// the zero value.
func (m *memory[V]) find(key string, load func() (V, error)) (V, error) {
	if v, ok := m.of[key]; ok {
		return v, nil
	}
	v, err := load()
	var none V
	if err == nil && v != none {
		m.set(key, v)
	}
	return v, err
}

// oneText returns a column of the first row of a query, "" without a row.
func oneText(ctx context.Context, from source.Tables, table, column, query string) (text string, err error) {
	first := true
	_, err = from.Rows(ctx, table, query, func(row *source.Row) error {
		if first {
			text, first = row.Text(column), false
		}
		return nil
	})
	return text, err
}

func literal(text string) string { return literals([]string{text}) }

// number64 parses a number of PostgreSQL; 0 if it is not one.
func number64(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
