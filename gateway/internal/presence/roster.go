package presence

import (
	"context"
	"slices"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
)

// maxRosters is how many rosters are kept in memory; one of a small channel takes a few kilobytes
// at most.
const maxRosters = 20_000

// roster is the members of a channel.
type roster struct {
	partition int32
	next      int64 // the roster includes the events of chat.messages before this offset
	large     bool  // it has more members than the receipt limit, and users is nil
	users     []string
}

// Lister returns the members of a channel, at most one more than limit, from a state that includes
// the record that after names. next is how far that state reaches in the channel's partition of
// chat.messages. For a channel that does not exist the error has the code not_found.
type Lister func(ctx context.Context, channelID, after string, limit int) (users []string, next int64, err error)

// rosters are read once per channel, then updated by the timeline, which the caller applies in
// order. A roster may be newer than the message that it is used for. That is harmless: a message
// from before a join is not unread for the user, queued or not, and a user who has left has nothing
// unread.
type rosters struct {
	list  Lister
	limit int
	all   map[string]*roster
}

func newRosters(list Lister, limit uint32) *rosters {
	return &rosters{list: list, limit: int(limit), all: map[string]*roster{}}
}

// of returns the roster of a channel. It includes the record that token names, at offset of the
// partition.
func (r *rosters) of(ctx context.Context, channelID string, partition int32, offset int64, token string) (*roster, error) {
	if known := r.all[channelID]; known != nil {
		return known, nil
	}
	users, next, err := r.list(ctx, channelID, token, r.limit)
	if err != nil && connect.CodeOf(err) != connect.CodeNotFound {
		return nil, err
	}
	if len(r.all) >= maxRosters {
		for id := range r.all { // any one: map order is random enough
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

// apply applies an event of the timeline to the roster of its channel, if that is in memory.
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
		if known.large { // it may be small now: read it again
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

// forget drops all rosters: the assignment has changed, and events that other members read
// meanwhile were not applied here.
func (r *rosters) forget() { clear(r.all) }

// bound turns a roster with more than limit users into a large one.
func (r *roster) bound(limit int) {
	if len(r.users) > limit {
		r.users, r.large = nil, true
	}
}
