package views

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"weak"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/rules"
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

var sweepMemories = sync.Pool{New: func() any { return &sweepMemory{} }}

// Room makes room for what the next Step finds, before the lock is taken. Where it was not called
// Step does it. That is some times what the Step before has looked at: little for who has little
// and for a list that is only compared. Who has many threads may have few channels, and the other
// way round.
func (s *Sweep) Room() {
	if s.mem == nil {
		s.mem = sweepMemories.Get().(*sweepMemory)
		s.mem.clear()
	}
	m := s.mem
	n := min(s.limit(s.Holds+1), max(sweepFirst, roomGrows*s.Looks))
	again := 0 // threads of the pair that was looked at in part may have to move
	for i := range m.pairs {
		if !m.pairs[i].done {
			again = int(m.pairs[i].threads)
		}
	}
	pairs := min(n, max(sweepFirst, 2*len(m.pairs)))
	m.pairs = grow(m.pairs, pairs)
	m.spare = grow(m.spare[:0], len(m.pairs)+pairs)
	if s.Panel {
		m.threads = grow(m.threads, again+min(n, max(sweepFirst, 2*len(m.threads))))
	}
	m.names = grow(m.names, idRoom+n*idBytes)
	if m.crowded {
		m.standings, m.crowded = grow(m.standings, n), false
	}
	s.roomy = true
}

// grow is slices.Grow that at least doubles what it moves: append grows what is large by a quarter,
// and of 10,000 threads the list would be moved ten times.
func grow[T any](list []T, n int) []T {
	if cap(list)-len(list) >= n {
		return list
	}
	return slices.Grow(list, max(n, len(list)))
}

// Large reports whether the list has so much that several holds of the lock are needed for it.
func (s *Sweep) Large() bool {
	return len(s.mem.pairs)+len(s.mem.threads) > cmp.Or(s.PerHold, firstLooks)
}

// Version changes when anything of the list does.
func (s *Sweep) Version() uint64 { return s.version }

// Aside puts a complete list aside for a later question: it lets go of the partition, which may be
// closed meanwhile, and returns how much memory the list takes. What EachChannel and EachThread
// lent is not valid any more. A list with much in it that does not stand any more is not worth
// that: it is freed, and the answer is 0. The next Step of a list that was put aside compares it,
// or begins anew where the partition is another.
func (s *Sweep) Aside() (bytes int) {
	m, threads := s.mem, 0
	for i := range m.pairs {
		threads += int(m.pairs[i].threads)
	}
	if s.p == nil || len(m.threads) > 2*threads+sweepFirst || len(m.standings) > 2*len(m.pairs)+sweepFirst || m.bytes() > sweepKept {
		s.Free()
		return 0
	}
	s.aside, s.p, s.roomy, s.again, s.Looks = weak.Make(s.p), nil, false, 0, 0
	if !m.fitted {
		s.mem = m.fit()
		m.leave()
	}
	return s.mem.bytes()
}

// fit is a copy that has room for what the lists have and for a few changes. What a sweep gathers
// in has room for much more, so the sweeps that come gather in that.
func (m *sweepMemory) fit() *sweepMemory {
	return &sweepMemory{
		pairs: fit(m.pairs, sweepFirst), spare: fit(m.spare[:0], len(m.pairs)+sweepFirst), threads: fit(m.threads, sweepFirst),
		names: fit(m.names, idRoom+sweepFirst*idBytes), standings: slices.Clone(m.standings), fitted: true,
	}
}

// fit is a copy of a list that has room for some more.
func fit[T any](list []T, more int) []T { return append(make([]T, 0, len(list)+more), list...) }

// IsAside reports whether the list has let go of its partition.
func (s *Sweep) IsAside() bool { return s.p == nil }

// Free leaves the memory to the sweeps that come. What was listed is not valid any more.
func (s *Sweep) Free() {
	m := s.mem
	s.mem, s.p, s.roomy = nil, nil, false
	if m != nil {
		m.leave()
	}
}

// leave leaves m to the sweeps that come. One that was made to fit would be too little for most.
func (m *sweepMemory) leave() {
	if !m.fitted && m.bytes() <= sweepKept {
		m.forget()
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

// ThreadEntry is the part of a ThreadView that a panel sorts and sums by.
type ThreadEntry struct {
	ChannelID, ThreadID []byte // borrowed, valid until Free
	Unread              uint32
	Mentions            uint32
	Muted               bool
	RepliedAt           int64     // of the newest live reply, Unix milliseconds; 0 = there is none
	Expired             bool      // it is followed, but too old to be listed
	Standing            *Standing // of the channel; nil: nothing was said of it
	Ref                 ThreadRef
}

// ThreadRef is where the user's follow of a thread is in memory, for Views.ThreadAt. It is good
// under the hold of the lock of which the list is; later another may be there.
type ThreadRef struct{ follow uint32 }

// EachChannel calls fn for the channels of a list that is complete, in no order. It needs no lock.
// The entry is reused for the next call, its ChannelID is valid until Free.
func (s *Sweep) EachChannel(fn func(*InboxEntry)) {
	var e InboxEntry
	for i := range s.mem.pairs {
		x := &s.mem.pairs[i]
		e = InboxEntry{ChannelID: s.mem.id(x.name), Unread: x.unread, Mentions: x.mentions, Muted: x.muted, LatestAt: x.latestAt, Standing: s.mem.standingOf(x)}
		fn(&e)
	}
}

// EachThread is EachChannel for the threads that are listed (DESIGN §4.4).
func (s *Sweep) EachThread(fn func(*ThreadEntry)) { s.eachThread(false, fn) }

// EachFollowed is EachThread for all followed threads, those that have expired too.
func (s *Sweep) EachFollowed(fn func(*ThreadEntry)) { s.eachThread(true, fn) }

func (s *Sweep) eachThread(anyAge bool, fn func(*ThreadEntry)) {
	var e ThreadEntry
	s.expires = math.MaxInt64
	for i := range s.mem.pairs {
		x := &s.mem.pairs[i]
		list := s.mem.threads[x.first : x.first+x.threads]
		e.ChannelID, e.Muted, e.Standing = s.mem.id(x.name), x.muted, s.mem.standingOf(x)
		for j := range list {
			t := &list[j]
			expired := s.p.expired(t.touched, s.logTime)
			if expired && !anyAge {
				continue
			}
			if !expired && !s.p.ThreadsAlways {
				s.expires = min(s.expires, t.touched+rules.ThreadListedFor)
			}
			e.ThreadID, e.Unread, e.Mentions, e.RepliedAt, e.Ref.follow = s.mem.id(t.name), t.unread, t.mentions, t.repliedAt, t.follow
			e.Expired = expired
			fn(&e)
		}
	}
}

// Listed is how many channels and threads were found until now.
func (s *Sweep) Listed() (channels, threads int) {
	if s.mem == nil {
		return 0, 0
	}
	return len(s.mem.pairs), len(s.mem.threads)
}
