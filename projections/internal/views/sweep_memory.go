package views

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/tidemark/tidemark/projections/internal/keys"
)

// sweepMemory holds the results of a sweep. Only standings have pointers, and sweeps reuse it, so
// that the garbage collector has little work.
type sweepMemory struct {
	pairs   []sweptPair // in the order of the user's rows
	spare   []sweptPair
	threads []sweptThread // the threads of each pair are contiguous
	names   []byte        // ids, each after its length

	// standings are of channels with settings or updates, which most users have none of. They do
	// have pointers.
	standings []Standing
	crowded   bool // a hold ended because standings was full
	fitted    bool // allocated to fit its contents
}

// sweptPair is the result for one channel of the user.
type sweptPair struct {
	m, r, d          int64 // the stamp; m is 0 before the first evaluation
	latestAt         int64
	ref, ch          uint32
	name             uint32 // offset of the channel's id in names
	unread, mentions uint32
	first, threads   uint32 // index and number of its threads
	next             uint32 // the follow to visit next
	muted            bool
	done             bool   // completely evaluated
	waits            bool   // log time alone can change it
	standing         uint32 // index in standings, plus 1; 0: none
}

// sweptThread is the result for one thread.
type sweptThread struct {
	repliedAt, touched int64
	name, follow       uint32
	unread, mentions   uint32
}

const (
	sweptPairBytes, sweptThreadBytes, standingBytes = 72, 32, 80

	// sweepFirst is how many entries a new sweep has memory for. Most users have fewer.
	sweepFirst = 128
	// memoryGrowth is the memory of the next hold, as a multiple of the entries that the last one
	// evaluated.
	memoryGrowth = 4
	// idBytes is the memory per id when there are many; maxIDBytes is the size of the longest.
	idBytes, maxIDBytes = 40, 2 + keys.MaxID
	// sweepKept is the largest memory, in bytes, that is kept for later sweeps.
	sweepKept = 8 << 20
)

// Pools of the memory for sweeps in progress, and for lists that are put aside.
var (
	sweepMemories  = sync.Pool{New: func() any { return &sweepMemory{} }}
	fittedMemories = sync.Pool{New: func() any { return &sweepMemory{} }}
)

// fit returns a copy that is large enough for its contents and for a few changes. The memory of a
// sweep in progress is much larger, and goes back to later sweeps.
func (m *sweepMemory) fit() *sweepMemory {
	old := fittedMemories.Get().(*sweepMemory)
	return &sweepMemory{
		pairs: fit(old.pairs, m.pairs, sweepFirst), spare: fit(old.spare, m.spare[:0], len(m.pairs)+sweepFirst),
		threads: fit(old.threads, m.threads, sweepFirst), names: fit(old.names, m.names, maxIDBytes+sweepFirst*idBytes),
		standings: slices.Clone(m.standings), fitted: true,
	}
}

// fit returns a copy of a list with capacity for some more elements, in old's memory if that has a
// suitable size.
func fit[T any](old, list []T, more int) []T {
	if n := len(list) + more; cap(old) < n || cap(old) > 2*n {
		old = make([]T, 0, n)
	}
	return append(old[:0], list...)
}

// recycle returns m to its pool.
func (m *sweepMemory) recycle() {
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

// forget drops the labels in standings.
func (m *sweepMemory) forget() {
	clear(m.standings)
	m.standings, m.crowded = m.standings[:0], false
}

// standingOf returns the Standing of a pair's channel, or nil.
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

// left returns how many more channels and threads fit.
func (m *sweepMemory) left(threads bool) int {
	n := min(cap(m.pairs)-len(m.pairs), (cap(m.names)-len(m.names))/maxIDBytes)
	if threads {
		n = min(n, cap(m.threads)-len(m.threads))
	}
	return n
}

// keep copies an id, because the original may be freed between two holds.
func (m *sweepMemory) keep(id []byte) (name uint32) {
	name = uint32(len(m.names))
	m.names = append(binary.LittleEndian.AppendUint16(m.names, uint16(len(id))), id...)
	return name
}

// id returns an id that keep has copied.
func (m *sweepMemory) id(name uint32) []byte {
	from := name + 2
	to := from + uint32(binary.LittleEndian.Uint16(m.names[name:]))
	return m.names[from:to:to]
}

// grow is slices.Grow that at least doubles the list. append grows a large list by a quarter, which
// would move a list of 10,000 threads ten times.
func grow[T any](list []T, n int) []T {
	if cap(list)-len(list) >= n {
		return list
	}
	return slices.Grow(list, max(n, len(list)))
}
