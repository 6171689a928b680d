package projections

// A query waits while Lock is held, and the fold waits while RLock is held. So neither is held for
// longer than a few milliseconds, however much there is to do. A writer releases Lock between two
// steps. It is the only writer, so the state is unchanged when it continues.

// exclusive runs f under Lock. cause is what for.
func (p *Partition) exclusive(cause string, f func()) {
	p.Lock()
	defer p.Unlock()
	defer p.TimeHold(cause)()
	f()
}

// TimeHold calls Options.OnHold: the caller has just taken Lock or RLock for cause. The caller
// calls done before it lets go of the lock. Without an OnHold it costs nothing.
func (p *Partition) TimeHold(cause string) (done func()) {
	if p.onHold == nil {
		return unwatched
	}
	return p.onHold(cause)
}

func unwatched() {}

// turn is Lock held for work that may be long: after each turnWork units of it the lock is let go
// of for a moment.
type turn struct {
	p     *Partition
	cause string
	done  func()
	left  int
}

// turnWork is how much is done under one hold of the lock, in units of about 1 us: a record that is
// encoded, a pair that is looked at.
const turnWork = 1000

// begin takes Lock.
func (t *turn) begin() {
	t.p.Lock()
	t.left = turnWork
	t.done = t.p.TimeHold(t.cause)
}

// end lets go of it.
func (t *turn) end() {
	t.done()
	t.p.Unlock()
}

// spend counts work, after which everything is as readers may see it.
func (t *turn) spend(work int) {
	if t.left -= work; t.left <= 0 {
		t.end()
		t.begin()
	}
}

// step is between two steps of a cut, without the lock.
func (p *Partition) step() {
	if p.onStep != nil {
		p.onStep()
	}
}
