package gateway

import (
	"context"
	"slices"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
)

// maxRosters bounds how many channels' members are remembered; a small channel has some kilobytes of ids at most.
const maxRosters = 20_000

// roster is who is a member of a channel.
type roster struct {
	partition int32
	next      int64 // of the channel's partition of chat.messages: everything before is in it
	large     bool  // more members than receipts are for: they are not listed
	users     []string
}

// lister lists the members of a channel, at most one more than limit, from a state that includes the record that after
// names. It returns how far that state reaches in the channel's partition. A channel that does not exist (any more) has
// nobody.
type lister func(ctx context.Context, channelID, after string, limit int) (users []string, next int64, err error)

// rosters remembers members: asked for once, then kept up with the timeline, which its user reads in order. A list may
// be newer than the message it is asked for. That does no harm: who joined after a message has it not among his unread,
// queued or not, and who left has nothing unread at all.
type rosters struct {
	list  lister
	limit int
	all   map[string]*roster
}

func newRosters(list lister, limit uint32) *rosters {
	return &rosters{list: list, limit: int(limit), all: map[string]*roster{}}
}

// of is the roster of a channel that includes the record with token, which is at offset of a partition.
func (r *rosters) of(ctx context.Context, channelID string, partition int32, offset int64, token string) (*roster, error) {
	if known := r.all[channelID]; known != nil {
		return known, nil
	}
	users, next, err := r.list(ctx, channelID, token, r.limit)
	if err != nil && connect.CodeOf(err) != connect.CodeNotFound {
		return nil, err
	}
	if len(r.all) >= maxRosters {
		for id := range r.all { // some: the order of a map is as good as any
			if delete(r.all, id); len(r.all) <= maxRosters*3/4 {
				break
			}
		}
	}
	known := &roster{partition: partition, next: max(next, offset+1), users: users}
	known.bound(r.limit)
	r.all[channelID] = known
	return known, nil
}

// apply keeps what is known of a channel up with an event of its timeline.
func (r *rosters) apply(m *events.Message, offset int64) {
	known := r.all[string(m.ChannelID)]
	if known == nil || offset < known.next {
		return
	}
	known.next = offset + 1
	switch m.Kind {
	case events.KindMembersJoined:
		if known.large {
			return
		}
		for _, id := range m.IDs {
			if !slices.Contains(known.users, string(id)) {
				known.users = append(known.users, string(id))
			}
		}
		known.bound(r.limit)
	case events.KindMembersLeft:
		if known.large { // it may be small now: ask again
			delete(r.all, string(m.ChannelID))
			return
		}
		known.users = slices.DeleteFunc(known.users, func(user string) bool {
			return slices.ContainsFunc(m.IDs, func(id []byte) bool { return string(id) == user })
		})
	case events.KindChannelDeleted:
		known.users, known.large = nil, false
	}
}

// forget drops everything: what was assigned has changed, and what others read meanwhile is not known here.
func (r *rosters) forget() { clear(r.all) }

// bound makes a roster that is too long a large one.
func (r *roster) bound(limit int) {
	if len(r.users) > limit {
		r.users, r.large = nil, true
	}
}
