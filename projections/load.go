package projections

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/loading"
)

// loadHot reads all records under Hot and rebuilds what is not stored. Channels that do not fit
// into memory stay in the store, or leave memory again.
func (p *Partition) loadHot() error {
	it, err := p.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keys.Hot}, UpperBound: []byte{keys.Hot + 1}})
	if err != nil {
		return err
	}
	t := &turn{p: p, cause: "release"}
	t.begin()
	defer t.end()
	crowded := false
	err = loading.Loader{Fold: &p.rules}.All(it, func() bool { return crowded }, func(ci uint32) { crowded = p.loaded(ci, t) || crowded })
	if err != nil {
		return err
	}
	p.leaveUsers(t)
	p.trim(t)
	return p.rules.Err()
}

// loaded takes a channel out of memory that was loaded, if it need not be there. It reports whether
// the channels that follow should stay in the store.
func (p *Partition) loaded(ci uint32, t *turn) bool {
	c, crowded := p.rules.Channels.At(ci), p.Crowded() > 1
	if p.planted != nil {
		p.planted("checked")
	}
	if p.evictable(c) || crowded && p.mayRest(ci, c) {
		p.evict(ci, t)
		p.leaveSome(t)
	}
	return crowded && !p.rules.Settings.TrimLog
}
