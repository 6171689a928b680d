package rules

import "github.com/tidemark/tidemark/projections/internal/state"

// ThreadListedFor is how long a thread is listed after its last reply, or after the user's last
// read or follow of it, in milliseconds of log time (DESIGN §4.4).
const ThreadListedFor = 30 * 24 * 3600 * 1000

// ThreadScope is the evaluated state of a user's row in a thread at this position.
type ThreadScope struct {
	Scope
	Thread  *state.Thread
	Follow  *state.Follow
	Pair    *state.Row
	Chosen  bool   // the user follows, even if the thread or the membership is gone
	Follows bool   // the user follows, and panels list the thread
	Counts  bool   // replies count for the user, if there are any
	above   uint32 // the seq above which replies count
	Newest  uint32 // the thread's newest live reply, 0 = none
	readAt  int64  // when the user's own reads of the thread put the pointer here; 0 = they did not
}

// ThreadScopeOf evaluates a user's row in a thread.
func (p *Fold) ThreadScopeOf(c *state.Channel, r *state.Row) ThreadScope {
	return p.ThreadScopeWith(c, r, p.ScopeOf(c, r))
}

// ThreadScopeWith is ThreadScopeOf with a given scope.
func (p *Fold) ThreadScopeWith(c *state.Channel, r *state.Row, of Scope) ThreadScope {
	s := ThreadScope{Scope: of, Follow: p.FollowOf(r)}
	s.Thread, s.Pair = p.Threads.At(s.Follow.Thread), p.Rows.At(s.Follow.Pair)
	s.Newest = s.Thread.Newest(c.Floor)
	from, is := p.FollowFrom(c, s.Follow)
	s.Chosen, s.Follows = is, is && s.Newest != 0 && s.Thread.Flags&state.ThreadGone == 0
	if s.Pointer > 0 {
		s.readAt = s.At
	}
	if is {
		p.showThreads(r, &s, from)
	}
	left := s.Pair.Flags&state.RowMember == 0 && s.Pair.Ord() != state.NoOrdinal
	s.Counts = is && !left && (s.Thread.Flags&state.ThreadGone == 0 || !p.rootGone(c, s.Thread))
	s.above = max(s.Pointer, s.Pair.Baseline, c.Floor, from, s.HiddenTo)
	return s
}

// rootGone reports whether the root of a thread was deleted.
func (p *Fold) rootGone(c *state.Channel, t *state.Thread) bool {
	_, gone := p.RootOf(c, t)
	return gone
}

// ThreadTotals returns how many replies ThreadCounts counts, and how many of them mention the user.
func (p *Fold) ThreadTotals(c *state.Channel, r *state.Row, s *ThreadScope) (unread, mentions uint32) {
	switch {
	case !s.Counts || s.Thread.Live.Max() <= s.above:
		return 0, 0
	case len(s.Own) > 0 || s.Skip.Max() > s.above || s.Thread.Alls.Max() > s.above:
		n := p.ThreadCounts(c, r, s)
		return n.Unread, n.Mentions
	}
	if e := p.ExtraOfPair(r); e != nil {
		mentions = e.Mentions.Above(s.above)
	}
	return s.Thread.Live.Above(s.above), mentions
}

// ShownIn reports whether the thread is shown to the user.
func (p *Fold) ShownIn(c *state.Channel, r *state.Row) bool {
	s := p.ThreadScopeOf(c, r)
	return s.Follows && s.Pair.Flags&state.RowMember != 0 && c.Flags&state.ChannelDeleted == 0
}

// TouchedAt returns the latest time of the thread's last reply, the user's pointer and their last
// explicit follow, or 0.
func (p *Fold) TouchedAt(c *state.Channel, s *ThreadScope) (at int64) {
	at = s.readAt
	if s.Follows && s.Follow.Flags&state.FollowExplicit != 0 {
		at = max(at, s.Follow.ExplicitAt)
	}
	if s.Newest != 0 && s.Thread.Flags&state.ThreadGone == 0 {
		at = max(at, s.Thread.RepliedAt(&p.State, c, s.Newest))
	}
	return at
}
