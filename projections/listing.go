package projections

import "errors"

// With Options.ListLater, a store that does not fit into memory is live before its cold channels are
// listed. Until then the partition does not know which cold channels a user has, and queries about
// users fail with ErrListing. Everything else is complete: a channel that is neither in memory nor
// listed is looked for in the store, by events (Fetch, LoadCold) and by queries (ColdChannel).

// ErrListing means that a partition is not Listed yet.
var ErrListing = errors.New("the partition has just been opened on this node and does not know the channels of its users yet")

// Listed reports whether the partition knows the cold channels of its users. It takes no lock.
func (p *Partition) Listed() bool { return !p.rules.Cold.Listing.Load() }

// List lists up to n more channels. It returns false once the partition is Listed. Only the goroutine
// that folds calls List, without holding Lock.
func (p *Partition) List(n int) (more bool, err error) {
	if err := p.rules.Err(); err != nil {
		return false, err
	}
	for ; n > 0 && p.lister != nil; n-- {
		more, err := p.lister.Next(func(f func()) { p.exclusive("listing", f) })
		if err == nil && !more {
			p.exclusive("listing", func() { err = p.stopListing() })
		}
		if err != nil {
			return false, p.rules.FirstError(p.wrong(err))
		}
	}
	return p.lister != nil, nil
}

// stopListing ends the reading of the records that are listed. The caller holds Lock, or nobody else
// has the partition.
func (p *Partition) stopListing() error {
	l := p.lister
	if l == nil {
		return nil
	}
	p.lister = nil
	return l.Close()
}
