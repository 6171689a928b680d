package loading

import (
	"bytes"

	"github.com/tidemark/tidemark/projections/internal/keys"
)

// Lister notes the channels as cold that Loader.All has left in the store, while events are folded. An
// event that names such a channel loads it first, as if it were cold.
type Lister struct {
	s    skimmer
	it   Records
	left Left
}

// NewLister returns a Lister that reads the records that All has read, from those of left.First on.
func NewLister(l Loader, it Records, left Left) *Lister {
	it.First()
	l.Cold.Listing.Store(true)
	return &Lister{s: skimmer{Loader: l}, it: it, left: left}
}

// Left returns how many channels are not listed yet, and their pairs. Some of them may be in memory
// again.
func (l *Lister) Left() Left { return l.left }

// Next notes the next channel, if it is still as All has left it. locked runs its argument under the
// partition's Lock. Next returns false when there are no more channels, which ends the listing, and
// with an error if a record is corrupt or cannot be read.
func (l *Lister) Next(locked func(func())) (more bool, err error) {
	if !l.it.Valid() {
		if err := l.it.Error(); err != nil {
			return false, err
		}
		locked(func() { l.s.Cold.Listing.Store(false) })
		return false, nil
	}
	x := &l.s.list
	if err := x.next(l.it); err != nil {
		return false, err
	}
	whole := l.s.read(false)
	if !whole && !l.s.read(true) {
		return true, nil // All has loaded it
	}
	locked(func() { l.left.Channels, l.left.Pairs = l.left.Channels-1, l.left.Pairs-int(l.s.ords) })
	if l.s.ChannelOf(x.ID) != 0 || l.s.Cold.Of(x.ID) != 0 {
		return true, nil // an event has named it
	}
	if l.s.Cold.MayHaveUnknown(x.ID) {
		same := false
		locked(func() { same, err = l.same() }) // another goroutine may be applying a cut
		if err != nil || !same {
			return err == nil, err
		}
	}
	if whole {
		l.s.touch()
		locked(l.s.note)
		return true, nil
	}
	locked(func() { _, _, err = l.s.List(x) })
	return err == nil, err
}

// same reports whether the channel's own record is still the one that was listed: no event has deleted
// the channel meanwhile.
func (l *Lister) same() (bool, error) {
	var kb [keys.Buf]byte
	val, ok, err := l.s.Get(keys.AppendHot(kb[:0], l.s.list.ID, keys.HotChannel))
	l.s.list.First()
	return ok && bytes.Equal(val, l.s.list.Value()), err
}

// Close ends the reading. It may be called again.
func (l *Lister) Close() error {
	it := l.it
	if it == nil {
		return nil
	}
	l.it = nil
	return it.Close()
}
