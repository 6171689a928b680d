package views

import (
	"cmp"
	"math"

	"github.com/tidemark/tidemark/projections/internal/rules"
)

// Large reports whether the list has so much that several holds of the lock are needed for it.
func (s *Sweep) Large() bool {
	return len(s.mem.pairs)+len(s.mem.threads) > cmp.Or(s.PerHold, firstLooks)
}

// Version changes when anything of the list does.
func (s *Sweep) Version() uint64 { return s.version }

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
