package gateway

import (
	"maps"
	"math"

	"github.com/tidemark/tidemark/events"
)

// Who is a member is said by three: the timeline (who joined and who left, as the feed reads it), deltas, and inboxes.
// They are not in step, and nothing of a channel may reach somebody for a time in which he was no member. So beside being
// a member or not, an entry has since: the offset of chat.messages from which on he has been one without a break, as far
// as is known. A message before it is not sent: if he had a right to it, the inbox or delta that made him a member
// includes it.
//
// A join that the timeline tells is exact. A delta or inbox that reaches up to offset M says that he is a member at M; a
// join that the timeline tells later, but which was before M, moves since back to it.

// unsure is the since of somebody who was a member when the feed broke off: he may have left in what the feed did not
// see. Nothing is sent to him before an inbox has said that he still is.
const unsure = math.MaxInt64

// doubt makes a user unsure of everything, as a gap in the feed does.
func (u *user) doubt() {
	for _, e := range u.entries {
		if e.ch != nil {
			e.since = unsure
		}
	}
}

// unsure reports whether there is a channel of which an inbox still has to say that he is a member.
func (u *user) unsure() bool {
	for _, e := range u.entries {
		if e.ch != nil && e.since == unsure {
			return true
		}
	}
	return false
}

// says takes what an inbox or a delta says, which includes chat.messages up to an offset. Called with the lock.
func (g *Gateway) says(u *user, e *entry, channelID string, member bool, next int64) {
	fresh, was := e.ch == nil || e.since == unsure, e.ch != nil
	g.hub.setMember(u, e, channelID, member)
	if !member {
		if was {
			g.forget(u, channelID)
		}
		return
	}
	e.word = next
	if !fresh {
		return
	}
	e.since = next
	if p := events.PartitionOf([]byte(channelID), g.cfg.Partitions); next < g.begun[p] {
		// Between there and where the feed began he may have left again: an inbox that reaches further has to say.
		e.since = unsure
		for _, c := range u.conns {
			if !c.loading {
				g.startLoad(c)
			}
		}
	}
}

// setMember makes u a member of a channel, or not. Called with the lock.
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

// revoke takes the rights of those who left at once: nothing of the channel reaches them after their leaving was read,
// whichever topic is ahead.
func (g *Gateway) revoke(m *events.Message, offset int64) {
	for _, id := range m.IDs {
		u := g.hub.users[string(id)]
		if u == nil {
			continue
		}
		e := u.entryOf(string(m.ChannelID))
		switch {
		case e.floorM > offset:
			// Seen before.
		case e.stamp.M > offset:
			// What is known includes it: he is back, or no member. If he is, then since some later event.
			if e.ch != nil && e.since != unsure {
				e.since = max(e.since, e.word)
			}
		default:
			u.count(e, -1)
			e.floorM = offset + 1
			g.hub.setMember(u, e, string(m.ChannelID), false)
			// What he had there is over, his threads too: if he is back before the fold has said so it must not count again.
			e.view = view{channel: string(m.ChannelID), muted: e.view.muted, epoch: e.view.epoch}
			maps.DeleteFunc(u.threads, func(s scope, _ *thread) bool { return s.channel == string(m.ChannelID) })
			e.threads = threadSums{}
			u.count(e, +1)
			g.forget(u, string(m.ChannelID))
		}
	}
}

// forget drops what is queued for the devices of somebody who has left a channel. Called with the lock.
func (g *Gateway) forget(u *user, channelID string) {
	for _, c := range u.conns {
		if c.forget(channelID) {
			g.reloadConn(c)
		}
	}
}

// admit makes those who join members from the next message on. What they have unread the fold will say.
func (g *Gateway) admit(m *events.Message, offset int64) {
	for _, id := range m.IDs {
		u := g.hub.users[string(id)]
		if u == nil {
			continue
		}
		e := u.entryOf(string(m.ChannelID))
		switch {
		case e.floorM > offset:
			// He has left since.
		case e.ch != nil:
			if e.since != unsure {
				e.since = min(e.since, offset+1)
			}
		case e.stamp.M <= offset:
			e.view.channel = string(m.ChannelID)
			g.hub.setMember(u, e, string(m.ChannelID), true)
			u.count(e, +1)
			e.word, e.since = offset+1, offset+1
		}
	}
}
