package state

// Rare is the rest of the state of a pair. A row needs one only if a field differs from what the row
// implies: of a user who joined, posts and reads, the row has it all.
type Rare struct {
	LastR    int64  // offset + 1 of the user's last record in chat.reads; read by LastR
	LastD    int64  // offset + 1 of the user's last record in chat.deliveries
	PublicAt int64  // earliest time of a read up to Public; read by Public
	Public   uint32 // furthest public read that is closed; read by Public
	Far      uint32 // the furthest that any effective closed read ever reached; read by Far
	OwnFloor uint32 // own posts up to here do not lift the pointer: a mark came after them
	Marks    uint32
	Scope    uint32 // in a thread: its follow; in a channel: the pair's first follow
	Extra    uint32 // index in State.PairExtras, 0 = none
}

// MaxEvent is the largest Row.Event. At a million records a second, an offset reaches it after a
// thousand years.
const MaxEvent = 1<<56 - 1

// Event is the record that put the pointer there: offset<<1, plus 1 if it is of chat.messages.
func (r *Row) Event() int64 {
	return int64(r.eventLow) | int64(r.eventMid)<<32 | int64(r.eventTop)<<48
}

// MaxTime is the largest time of a row, in Unix milliseconds; the smallest is 0. Events end
// with year 9999, long before it.
const MaxTime = 1<<48 - 1

// At returns when the pointer was put where it is, in Unix milliseconds, 0 to MaxTime.
func (r *Row) At() int64 { return int64(r.atLow) | int64(r.atHigh)<<32 }

// Place puts the pointer somewhere, and what the row implies with it (Rare). at must be in 0 to MaxTime.
func (r *Row) Place(to uint32, at, event int64) {
	r.Pointer = to
	r.atLow, r.atHigh = uint32(at), uint16(at>>32)
	r.eventLow, r.eventMid, r.eventTop = uint32(event), uint16(event>>32), uint8(event>>48)
}

// OwnAt returns the time of LastOwn, in Unix milliseconds, 0 to MaxTime.
func (r *Row) OwnAt() int64 { return int64(r.ownAtLow) | int64(r.ownAtHigh)<<32 }

// SetOwn sets the newest own counted post. at must be in 0 to MaxTime.
func (r *Row) SetOwn(seq uint32, at int64) {
	r.LastOwn, r.ownAtLow, r.ownAtHigh = seq, uint32(at), uint16(at>>32)
}

// lastRead returns offset + 1 of the record of chat.reads that put the pointer there, or 0.
func (r *Row) lastRead() int64 {
	event := r.Event()
	if event == 0 || event&1 != 0 {
		return 0
	}
	return event>>1 + 1
}

// RareOf returns the row's Rare, or an empty one. The caller must not change it. LastR, Public and Far
// return the fields that the row may imply.
func (p *State) RareOf(r *Row) *Rare {
	if r.Rare == 0 {
		return &noRare
	}
	return p.Rares.At(r.Rare)
}

var noRare Rare

// Whole returns the row's Rare, or what the row implies. It is valid until the next call, and must not
// be changed. Only the goroutine that changes the state calls Whole.
func (p *State) Whole(r *Row) *Rare {
	if r.Rare != 0 {
		return p.Rares.At(r.Rare)
	}
	x := &p.whole // set field by field: a CPU is slow to copy a struct that was just written
	x.LastR, x.Public, x.PublicAt, x.Far = r.lastRead(), r.Pointer, r.At(), r.Pointer
	return x
}

// implies reports whether the row implies x: its last read put the pointer there, publicly, and no
// read ever reached further.
func (r *Row) implies(x *Rare) bool {
	return x.Public == r.Pointer && x.Far == r.Pointer && x.PublicAt == r.At() && x.LastR == r.lastRead() &&
		x.LastD == 0 && x.OwnFloor == 0 && x.Marks == 0 && x.Scope == 0 && x.Extra == 0
}

// SetWhole replaces the row's Rare, but for Scope and Extra. It keeps none that the row implies.
func (p *State) SetWhole(r *Row, x Rare) {
	was := p.RareOf(r)
	x.Scope, x.Extra = was.Scope, was.Extra
	switch {
	case r.implies(&x):
		p.DropRare(r)
	case r.Rare == 0:
		r.Rare = p.Rares.Push(x)
	default:
		*p.Rares.At(r.Rare) = x
	}
}

// EnsureRare returns the row's Rare, and creates it if needed.
func (p *State) EnsureRare(r *Row) *Rare {
	if r.Rare == 0 {
		r.Rare = p.Rares.Push(*p.Whole(r))
	}
	return p.Rares.At(r.Rare)
}

// Imply drops the row's Rare if the row implies it.
func (p *State) Imply(r *Row) {
	if r.Rare != 0 && r.implies(p.Rares.At(r.Rare)) {
		p.DropRare(r)
	}
}

// DropExtra drops the row's PairExtra.
func (p *State) DropExtra(r *Row) {
	if x := p.RareOf(r); x.Extra != 0 {
		p.PairExtras.Drop(x.Extra)
		x.Extra = 0
	}
}

// DropRare drops the row's Rare, and its PairExtra.
func (p *State) DropRare(r *Row) {
	if p.DropExtra(r); r.Rare != 0 {
		p.Rares.Release(r.Rare)
		r.Rare = 0
	}
}

// Move puts the row's pointer somewhere, and nothing else.
func (p *State) Move(r *Row, to uint32, at, event int64) {
	if r.Pointer == to && r.At() == at && r.Event() == event {
		return
	}
	p.EnsureRare(r)
	r.Place(to, at, event)
}

// LastR returns offset + 1 of the user's last record in chat.reads, or 0.
func (p *State) LastR(r *Row) int64 {
	if r.Rare == 0 {
		return r.lastRead()
	}
	return p.Rares.At(r.Rare).LastR
}

// Public returns the furthest public read of the row's scope that is closed, and the earliest time
// of a read up to there.
func (p *State) Public(r *Row) (seq uint32, at int64) {
	if r.Rare == 0 {
		return r.Pointer, r.At()
	}
	x := p.Rares.At(r.Rare)
	return x.Public, x.PublicAt
}

// Far returns the furthest that any effective closed read of the row's scope ever reached.
func (p *State) Far(r *Row) uint32 {
	if r.Rare == 0 {
		return r.Pointer
	}
	return p.Rares.At(r.Rare).Far
}

// FollowOf returns the follow of a row in a thread.
func (p *State) FollowOf(r *Row) *Follow { return p.Follows.At(p.RareOf(r).Scope) }
