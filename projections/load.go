package projections

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/loading"
)

// loadHot reads all records under Hot and rebuilds what is not stored. Channels that do not fit
// into memory stay in the store, or leave memory again.
func (p *Partition) loadHot() error {
	it, err := p.hot(nil)
	if err != nil {
		return err
	}
	t := &turn{p: p, cause: "release"}
	t.begin()
	defer t.end()
	room := &room{p: p}
	left, err := loading.Loader{Fold: &p.rules}.All(it, p.listLater, func() bool { return room.short }, func(ci uint32) { room.loaded(ci, t) })
	if err != nil {
		return err
	}
	p.leaveUsers(t)
	p.trim(t)
	if left.Channels > 0 {
		if it, err = p.hot(left.First); err != nil {
			return err
		}
		p.lister = loading.NewLister(loading.Loader{Fold: &p.rules}, it, left)
	}
	return p.rules.Err()
}

// hot returns an iterator over all records under Hot, from those of a channel on.
func (p *Partition) hot(from []byte) (*pebble.Iterator, error) {
	return p.db.NewIter(&pebble.IterOptions{LowerBound: append([]byte{keys.Hot}, from...), UpperBound: []byte{keys.Hot + 1}})
}

// room decides how many channels memory has room for while a store is opened.
type room struct {
	p       *Partition
	short   bool // the channels that follow should stay in the store
	guessed bool
}

// loaded takes a channel out of memory that was loaded, if it need not be there.
func (r *room) loaded(ci uint32, t *turn) {
	p := r.p
	c, crowded := p.rules.Channels.At(ci), p.Crowded()
	full := crowded > 1
	if p.planted != nil {
		p.planted("checked")
	}
	if !r.guessed && crowded > roomGuess {
		r.guessed = true
		part := p.readUpTo(p.rules.Blobs.Get(c.ID))
		full = full || part > 0 && crowded/part > roomShort
	}
	r.short = r.short || full
	if p.evictable(c) || full && p.mayRest(ci, c) {
		p.evict(ci, t)
		p.leaveSome(t)
	}
}

// When channels take roomGuess of their memory, room guesses from the read part of the store how much
// the whole store would take. With more than roomShort of it, nothing more is loaded: loading a channel
// when an event names it takes less than loading all the channels that no event will name.
const (
	roomGuess = 0.0625
	roomShort = 1.5
)

// readUpTo returns the part of the records under Hot up to those of a channel, by their size on disk, or
// 0 if it is unknown.
func (p *Partition) readUpTo(id []byte) float64 {
	var kb [keys.Buf]byte
	read, err := p.db.EstimateDiskUsage([]byte{keys.Hot}, keys.AppendHot(kb[:0], id, 0xff))
	all, err2 := p.db.EstimateDiskUsage([]byte{keys.Hot}, []byte{keys.Hot + 1})
	if err != nil || err2 != nil || all == 0 {
		return 0
	}
	return float64(read) / float64(all)
}
