package gateway

import (
	"maps"
	"math"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/gateway/internal/view"
)

// A gateway learns who is a member of a channel from three sources: the timeline (the joins and
// leaves that the feed reads), deltas and inboxes. They are not in step, and nothing of a channel
// may reach a user from a time when they were not a member. So an entry has since: the offset of
// chat.messages from which on the user has been a member without a break, as far as is known.
// Earlier messages are not sent. If the user had a right to one, the inbox or delta that made them
// a member includes it.
//
// A join in the timeline is exact. A delta or inbox that reaches up to offset M shows that the user
// is a member at M. If the feed later reads a join from before M, since moves back to it.

// unconfirmed is the since of a user who was a member when the feed was interrupted. They may have
// left during the gap. Nothing is sent to them before an inbox confirms that they are still a
// member.
const unconfirmed = math.MaxInt64

// unconfirm makes all memberships of a user unconfirmed, after a gap in the feed.
func (u *user) unconfirm() {
	for _, e := range u.entries {
		if e.ch != nil {
			e.since = unconfirmed
		}
	}
}

// applyMembership applies the membership that an inbox or a delta states, which includes
// chat.messages up to next. Called with the lock.
func (g *Gateway) applyMembership(u *user, e *entry, channelID string, member bool, next int64) {
	fresh, was := e.ch == nil || e.since == unconfirmed, e.ch != nil
	u.hub.setMember(u, e, channelID, member)
	if !member {
		if was {
			g.forget(u, channelID)
		}
		return
	}
	e.memberUpTo = next
	if !fresh {
		return
	}
	e.since = next
	if p := events.PartitionOf([]byte(channelID), g.cfg.Partitions); next < u.hub.begun[p] {
		// The user may have left again between next and the start of the feed: an inbox that
		// reaches further has to confirm the membership.
		e.since = unconfirmed
		for _, c := range u.conns {
			if c.loading {
				c.confirm = true // the inbox in progress may have passed this channel
			} else {
				c.startLoad()
			}
		}
	}
}

// setMember makes u a member of a channel or ends their membership. Called with the lock.
func (h *hub) setMember(u *user, e *entry, channelID string, member bool) {
	switch {
	case member && e.ch == nil:
		e.ch = h.channelOf(channelID)
		e.ch.members[u] = e
	case !member && e.ch != nil:
		h.leave(u, e.ch)
		e.ch, e.exceptions, e.reading = nil, nil, nil
		for _, c := range u.conns {
			maps.DeleteFunc(c.focused, func(s scope, _ uint32) bool { return s.channel == channelID })
		}
	}
}

// left reports whether a delta is from before the user's last leave. The end of their membership is
// sent nevertheless, unless they are back: after a channel is deleted no later delta comes.
func (e *entry) left(d *events.UnreadDelta) bool {
	return d.Stamp.M < e.floorM && (d.Member || e.ch != nil)
}

// revoke ends the memberships of users as soon as the feed reads their leave. From then on nothing
// of the channel reaches them, whichever topic is ahead. Called with the lock.
func (g *Gateway) revoke(h *hub, m *events.Message, offset int64) {
	for _, id := range m.IDs {
		u := h.users[string(id)]
		if u == nil {
			continue
		}
		e := u.entryOf(string(m.ChannelID))
		switch {
		case e.floorM > offset:
			// The entry already includes the leave.
		case e.stamp.M > offset:
			// The entry includes the leave, so a user who is a member nevertheless has joined again
			// since.
			if e.ch != nil && e.since != unconfirmed {
				e.since = max(e.since, e.memberUpTo)
			}
		default:
			u.change(e, func() {
				e.floorM = offset + 1
				u.revoked++
				h.setMember(u, e, string(m.ChannelID), false)
				// Reset the counts there and in the channel's threads: they must not count again if
				// the user rejoins before the fold has cleared them.
				e.view = view.View{Channel: string(m.ChannelID), Level: e.view.Level, Epoch: e.view.Epoch}
				maps.DeleteFunc(u.threads, func(s scope, _ *thread) bool { return s.channel == string(m.ChannelID) })
				e.threads = view.Threads{}
			})
			g.forget(u, string(m.ChannelID))
		}
	}
}

// forget drops the frames of a channel that are queued for the devices of a user who has left it.
// Called with the lock.
func (g *Gateway) forget(u *user, channelID string) {
	for _, c := range u.conns {
		if c.DropChannel(channelID) {
			c.reload()
		}
	}
}

// admit makes joining users members from the next message on. A delta will bring their counts.
// Called with the lock.
func (g *Gateway) admit(h *hub, m *events.Message, offset int64) {
	for _, id := range m.IDs {
		u := h.users[string(id)]
		if u == nil {
			continue
		}
		e := u.entryOf(string(m.ChannelID))
		switch {
		case e.floorM > offset:
			// The user has left since.
		case e.ch != nil:
			if e.since != unconfirmed {
				e.since = min(e.since, offset+1)
			}
		case e.stamp.M <= offset:
			e.view.Channel = string(m.ChannelID)
			h.setMember(u, e, string(m.ChannelID), true)
			u.count(e, +1)
			e.memberUpTo, e.since = offset+1, offset+1
		}
	}
}

// notMember is the answer for every channel of which the user is not a member, whether or not it
// exists.
func notMember(channelID string) error {
	return frames.Refuse(frames.NotFound, "channel_id %q: no such channel, or it was deleted", channelID)
}

// member checks that the user is a member now, as far as this gateway knows.
func (g *Gateway) member(c *conn, channelID string) error {
	c.user.hub.mu.Lock()
	defer c.user.hub.mu.Unlock()
	if e := c.user.entries[channelID]; e == nil || e.ch == nil {
		return notMember(channelID)
	}
	return nil
}
