package projections

// With Options.ListLater, a store that does not fit into memory is live before its cold channels are
// listed. What is missing until then is which channels a user has there: queries about a user wait
// until the partition is Listed. Everything else is complete: a channel that is neither in memory nor
// listed is looked for in the store, by events (Fetch, LoadCold) and by queries (ColdChannel).

// Listed reports whether the partition knows the cold channels of its users. It takes no lock.
func (p *Partition) Listed() bool { return !p.rules.Cold.Listing.Load() }

// List lists up to n more channels. It returns false once the partition is Listed. Only the goroutine
// that folds calls List, without holding Lock.
func (p *Partition) List(n int) (more bool, err error) {
	for ; n > 0 && p.lister != nil; n-- {
		more, err := p.lister.Next(func(f func()) { p.exclusive("listing", f) })
		if err == nil && !more {
			err = p.lister.Close()
			p.exclusive("listing", func() { p.lister = nil })
		}
		if err != nil {
			return false, p.rules.FirstError(p.wrong(err))
		}
	}
	return p.lister != nil, nil
}
