package views

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/tidemark/tidemark/projections/internal/keys"
)

// sweepMemory is what a sweep has found. It has no pointers but in standings, and sweeps take turns
// with it, so that the collector has little to do for them.
type sweepMemory struct {
	pairs   []sweptPair // in the order of the user's rows
	spare   []sweptPair
	threads []sweptThread // those of a pair one after the other
	names   []byte        // ids, each behind its length

	// Of channels of which something was said. It does have pointers; most users have none of it.
	standings []Standing
	crowded   bool // a hold ended because standings was full
	fitted    bool // it was made to fit what is in it
}

// sweptPair is what was found of a channel of the user.
type sweptPair struct {
	m, r, d          int64 // the stamp; m is 0 where nothing was looked at
	latestAt         int64
	ref, ch          uint32
	name             uint32 // where the channel's id is
	unread, mentions uint32
	first, threads   uint32 // where the threads are, and how many
	next             uint32 // the follow to look at next
	muted            bool
	done             bool   // all was looked at
	waits            bool   // something can change with the log time alone
	standing         uint32 // its place in standings, plus 1; 0: nothing was said
}

// sweptThread is what was found of a thread.
type sweptThread struct {
	repliedAt, touched int64
	name, follow       uint32
	unread, mentions   uint32
}

const (
	sweptPairBytes, sweptThreadBytes, standingBytes = 72, 32, 80

	// sweepFirst is how much there is room for at first: most users have little.
	sweepFirst = 128
	// roomGrows is how many times what it had looked at a hold gives the next one room for.
	roomGrows = 4
	// idBytes is the room for an id that pays where there are many, idRoom what the longest takes.
	idBytes, idRoom = 40, 2 + keys.MaxID
	// sweepKept is how many bytes of memory the sweeps that come may find.
	sweepKept = 8 << 20
)

// What lists are gathered in, and what they are put aside in.
var (
	sweepMemories  = sync.Pool{New: func() any { return &sweepMemory{} }}
	fittedMemories = sync.Pool{New: func() any { return &sweepMemory{} }}
)

// fit is a copy that has room for what the lists have and for a few changes. What a sweep gathers
// in has room for much more, so the sweeps that come gather in that.
func (m *sweepMemory) fit() *sweepMemory {
	old := fittedMemories.Get().(*sweepMemory)
	return &sweepMemory{
		pairs: fit(old.pairs, m.pairs, sweepFirst), spare: fit(old.spare, m.spare[:0], len(m.pairs)+sweepFirst),
		threads: fit(old.threads, m.threads, sweepFirst), names: fit(old.names, m.names, idRoom+sweepFirst*idBytes),
		standings: slices.Clone(m.standings), fitted: true,
	}
}

// fit is a copy of a list that has room for some more, in old memory if that fits.
func fit[T any](old, list []T, more int) []T {
	if n := len(list) + more; cap(old) < n || cap(old) > 2*n {
		old = make([]T, 0, n)
	}
	return append(old[:0], list...)
}

// leave leaves m to the sweeps that come, or if it was made to fit to the lists that are put aside.
func (m *sweepMemory) leave() {
	m.forget()
	switch {
	case m.fitted:
		fittedMemories.Put(m)
	case m.bytes() <= sweepKept:
		sweepMemories.Put(m)
	}
}

func (m *sweepMemory) clear() {
	if m != nil {
		m.pairs, m.spare, m.threads, m.names = m.pairs[:0], m.spare[:0], m.threads[:0], m.names[:0]
		m.forget()
	}
}

// forget lets go of the labels in standings.
func (m *sweepMemory) forget() {
	clear(m.standings)
	m.standings, m.crowded = m.standings[:0], false
}

// standingOf is nil if nothing was said of the channel of a pair.
func (m *sweepMemory) standingOf(x *sweptPair) *Standing {
	if x.standing == 0 {
		return nil
	}
	return &m.standings[x.standing-1]
}

func (m *sweepMemory) bytes() int {
	return sweptPairBytes*(cap(m.pairs)+cap(m.spare)) + sweptThreadBytes*cap(m.threads) + cap(m.names) +
		standingBytes*cap(m.standings)
}

// left is how many channels and threads there is room for.
func (m *sweepMemory) left(threads bool) int {
	n := min(cap(m.pairs)-len(m.pairs), (cap(m.names)-len(m.names))/idRoom)
	if threads {
		n = min(n, cap(m.threads)-len(m.threads))
	}
	return n
}

// keep copies an id, which may be given back between two holds.
func (m *sweepMemory) keep(id []byte) (name uint32) {
	name = uint32(len(m.names))
	m.names = append(binary.LittleEndian.AppendUint16(m.names, uint16(len(id))), id...)
	return name
}

// id is what was kept.
func (m *sweepMemory) id(name uint32) []byte {
	from := name + 2
	to := from + uint32(binary.LittleEndian.Uint16(m.names[name:]))
	return m.names[from:to:to]
}

// grow is slices.Grow that at least doubles what it moves: append grows what is large by a quarter,
// and of 10,000 threads the list would be moved ten times.
func grow[T any](list []T, n int) []T {
	if cap(list)-len(list) >= n {
		return list
	}
	return slices.Grow(list, max(n, len(list)))
}
