package projections

// Queries wait while Lock is held, and the fold waits while RLock is held. So no caller holds
// either for longer than a few milliseconds, however much there is to do. A writer releases Lock
// between two steps. It is the only writer, so the state is unchanged when it continues.

// exclusive runs f under Lock. cause labels the hold.
func (p *Partition) exclusive(cause string, f func()) {
	p.Lock()
	defer p.Unlock()
	defer p.TimeHold(cause)()
	f()
}

// TimeHold calls Options.OnHold; the caller has just taken Lock or RLock for cause, and calls done
// before it releases the lock. Without an OnHold, TimeHold costs nothing.
func (p *Partition) TimeHold(cause string) (done func()) {
	if p.onHold == nil {
		return unwatched
	}
	return p.onHold(cause)
}

func unwatched() {}

// turn holds Lock for work that may be long. After every turnWork units it releases the lock for a
// moment.
type turn struct {
	p     *Partition
	cause string
	done  func()
	left  int
}

// turnWork is how many units of work one hold of the lock may do. A unit takes about 1 us: one
// record to encode, or one pair to check.
const turnWork = 1000

// begin takes Lock.
func (t *turn) begin() {
	t.p.Lock()
	t.left = turnWork
	t.done = t.p.TimeHold(t.cause)
}

// end releases Lock.
func (t *turn) end() {
	t.done()
	t.p.Unlock()
}

// spend counts work. At each call the state must be consistent for readers, because spend may
// release Lock.
func (t *turn) spend(work int) {
	if t.left -= work; t.left <= 0 {
		t.end()
		t.begin()
	}
}

// step marks a point between two steps of a cut, where the lock is not held.
func (p *Partition) step() {
	if p.onStep != nil {
		p.onStep()
	}
}
