package events

// MaxListed limits each list of positions in a delta or a channel record to the newest 1,000
// (DESIGN §7).
const MaxListed = 1000

// Timeline has the parts of a channel's record that are needed to count unread messages in a large
// channel (DESIGN §7).
type Timeline struct {
	HeadPos   uint32 // position of the newest message
	PurgedPos uint32 // messages at or below this position are gone

	Holes      Positions // deleted messages
	HolesFloor uint32    // holes at or below this position are not listed
	Alls       Positions // messages that mention everybody
	AllsFloor  uint32
}

// Timeline returns the parts of r that are needed to count.
func (r *ChannelRecord) Timeline() Timeline {
	return Timeline{
		HeadPos: r.HeadPos, PurgedPos: r.PurgedPos,
		Holes: PositionsOf(r.Holes), HolesFloor: r.HolesFloor,
		Alls: PositionsOf(r.Alls), AllsFloor: r.AllsFloor,
	}
}

// Exceptions has the parts of a user's delta that are needed to count unread messages in a large
// channel (DESIGN §7).
type Exceptions struct {
	ReadPos   uint32    // position of the read pointer or of the baseline, whichever is higher
	Excluded  Positions // above ReadPos: the user's own messages and those read singly
	Mentioned Positions // above ReadPos: messages that mention the user by name
	IgnoreAll bool      // mentions of everybody do not count for this user
	Ask       bool      // the lists are incomplete
}

// Counts are a user's counts in a large channel.
type Counts struct {
	Unread, Mentions uint32
	Direct           uint32 // those of Mentions that name the user
	// First and FirstMention are the lowest positions of unread messages and of mentions; 0: there
	// is none.
	First, FirstMention uint32
}

// Count counts the unread messages and mentions of one user in a large channel: the positions above
// ReadPos and PurgedPos, up to HeadPos, that are neither a hole nor excluded. ok is false where a
// list may lack positions of that range; only the query service can then determine the counts.
func (t *Timeline) Count(x *Exceptions) (n Counts, ok bool) {
	if x.Ask {
		return n, false
	}
	above := max(x.ReadPos, t.PurgedPos)
	if above >= t.HeadPos {
		return n, true
	}
	if t.HolesFloor > above || !x.IgnoreAll && t.AllsFloor > above || x.Excluded.Size() >= MaxListed || x.Mentioned.Size() >= MaxListed {
		return n, false
	}
	holes, excluded := cursorOver(t.Holes, above), cursorOver(x.Excluded, above)
	alls, mentioned := cursorOver(t.Alls, above), cursorOver(x.Mentioned, above)
	for above < t.HeadPos {
		// Each set contains all of the positions above `above` and up to `end`, or none of them.
		end := min(t.HeadPos, holes.alike(above), excluded.alike(above), alls.alike(above), mentioned.alike(above))
		if !holes.in && !excluded.in {
			if n.Unread == 0 {
				n.First = above + 1
			}
			n.Unread += end - above
			if mentioned.in {
				n.Direct += end - above
			}
			if mentioned.in || alls.in && !x.IgnoreAll {
				if n.Mentions == 0 {
					n.FirstMention = above + 1
				}
				n.Mentions += end - above
			}
		}
		above = end
	}
	return n, true
}

// positionCursor goes through the runs of a set in ascending order.
type positionCursor struct {
	rest Positions
	in   bool // the positions up to what alike returned are in the set
}

func cursorOver(s Positions, above uint32) positionCursor {
	return positionCursor{rest: s.from(above + 1)}
}

// alike returns the highest position up to which all positions above pos are in the set, or none of
// them is.
func (c *positionCursor) alike(pos uint32) uint32 {
	for len(c.rest) > 0 && c.rest[0].Hi <= pos {
		c.rest = c.rest[1:]
	}
	if len(c.rest) == 0 {
		c.in = false
		return 1<<32 - 1
	}
	if next := c.rest[0]; next.Lo > pos+1 {
		c.in = false
		return next.Lo - 1
	}
	c.in = true
	return c.rest[0].Hi
}
