package rules_test

import (
	"bytes"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/projections/internal/overlay"
	"github.com/tidemark/tidemark/projections/internal/rules"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/views"
)

// alone is a fold without a store, with its queries. Nothing is ever cut, so all records stay in
// the overlay, where the rules write them.
type alone struct {
	views.Queries
	fold   rules.Fold
	stored views.Stored
}

func newAlone(s projections.Settings) *alone {
	a := &alone{}
	a.fold.Begin(s, memory{&a.fold})
	a.stored.Iterate = func() (views.Iterator, error) { return nothing{}, nil }
	a.Queries = views.NewQueries(&a.fold, &a.stored)
	return a
}

func (a *alone) Err() error { return a.fold.Err() }

// memory is the store of a fold that has none.
type memory struct{ fold *rules.Fold }

func (memory) Stored([]byte) (val []byte, ok bool, err error) { return nil, false, nil }

func (m memory) Scan(prefix []byte, fn func(key, val []byte)) error {
	type record struct{ key, val []byte }
	var found []record
	m.fold.Written.Now.Under(prefix, func(e overlay.Entry) {
		if !e.Deleted {
			found = append(found, record{bytes.Clone(e.Key), bytes.Clone(e.Val)})
		}
	})
	for _, r := range found {
		fn(r.key, r.val)
	}
	return nil
}

func (memory) LoadCold(uint32, *state.Channel, []byte) error { return nil }

// nothing iterates over no records.
type nothing struct{}

func (nothing) SeekGE([]byte) bool           { return false }
func (nothing) Next() bool                   { return false }
func (nothing) Key() []byte                  { return nil }
func (nothing) ValueAndErr() ([]byte, error) { return nil, nil }
func (nothing) Error() error                 { return nil }
func (nothing) Close() error                 { return nil }
