package projections

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/loading"
)

// loadHot reads all records under Hot and rebuilds what is not stored. If they do not fit into memory,
// channels stay in the store.
func (p *Partition) loadHot() error {
	it, err := p.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keys.Hot}, UpperBound: []byte{keys.Hot + 1}})
	if err != nil {
		return err
	}
	t := &turn{p: p, cause: "release"}
	t.begin()
	defer t.end()
	load := loading.Loader{Fold: &p.rules}.All
	stored, err := p.db.EstimateDiskUsage([]byte{keys.Hot}, []byte{keys.Hot + 1})
	if err != nil {
		return errors.Join(err, it.Close())
	}
	if !loading.Fits(&p.rules.State, stored, p.hotLimit()) {
		load = loading.Loader{Fold: &p.rules}.Skim
	}
	if err := load(it, func(ci uint32) { p.loaded(ci, t) }); err != nil {
		return err
	}
	p.leaveUsers(t)
	p.trim(t)
	return p.rules.Err()
}

// loaded takes a channel out of memory that was loaded, if it need not be there.
func (p *Partition) loaded(ci uint32, t *turn) {
	c := p.rules.Channels.At(ci)
	if p.planted != nil {
		p.planted("checked")
	}
	if p.evictable(c) || p.Crowded() > 1 && p.mayRest(ci, c) {
		p.evict(ci, t)
		p.leaveSome(t)
	}
}
