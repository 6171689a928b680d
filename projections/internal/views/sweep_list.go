package views

import (
	"cmp"
	"math"

	"github.com/tidemark/tidemark/projections/internal/rules"
)

// Large reports whether the list needs several holds of the lock.
func (s *Sweep) Large() bool {
	return len(s.mem.pairs)+len(s.mem.threads) > cmp.Or(s.PerHold, firstLooks)
}

// Version changes whenever the list changes.
func (s *Sweep) Version() uint64 { return s.version }

// ThreadEntry is the part of a ThreadView that a panel needs to sort and sum threads.
type ThreadEntry struct {
	ChannelID, ThreadID []byte // borrowed, valid until Free
	Unread              uint32
	Mentions            uint32
	Muted               bool
	RepliedAt           int64     // time of the newest live reply, Unix milliseconds; 0 = there is none
	Expired             bool      // followed, but too old to be listed
	Standing            *Standing // of the channel; nil: no settings and no updates
	Ref                 ThreadRef
}

// ThreadRef is the place of a user's follow in memory, for Views.ThreadAt. It is valid in the hold
// of the lock that completed the list; later another follow may be there.
type ThreadRef struct{ follow uint32 }

// EachChannel calls fn for the channels of a complete list, in no particular order. It needs no
// lock. The entry is reused for the next call; its ChannelID is valid until Free.
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

// EachFollowed is EachThread for all followed threads, including expired ones.
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

// Listed returns how many channels and threads the list has so far.
func (s *Sweep) Listed() (channels, threads int) {
	if s.mem == nil {
		return 0, 0
	}
	return len(s.mem.pairs), len(s.mem.threads)
}
