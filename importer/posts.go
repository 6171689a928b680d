package importer

import (
	"bytes"
	"container/heap"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// write numbers and writes a message.
func (p *plan) write(key []byte, e *Event) error {
	c := p.channel(e.Channel)
	if err := p.setNext(c, e.ID); err != nil {
		return err
	}
	c.seq++
	if c.seq == c.seed+1 {
		c.next = e.ID
	}
	if !e.Silent {
		if e.Thread == "" || e.Broadcast {
			p.poster(e.Channel, e.User, "").last = c.seq
		}
		if e.Thread != "" {
			p.poster(e.Channel, e.User, e.Thread).last = c.seq
		}
	}
	if e.Until != 0 {
		p.deleteLater(e, c.seq, e.ID)
	}
	return p.message(key, e.Channel, e.At, &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MessagePosted{MessagePosted: &eventsv1.MessagePosted{
		MessageId: e.ID, SenderId: e.User, Preview: e.Text, ThreadId: e.Thread, Broadcast: e.Broadcast && e.Thread != "",
		Silent: e.Silent, Mentions: e.Mentions, MentionAll: e.MentionAll,
	}}})
}

// deleteLater schedules the deletion of a message at its time in the pass.
func (p *plan) deleteLater(e *Event, seq uint32, id string) {
	k := append(appendID(key(e.Until, rankDelete), e.ID), e.Channel...)
	heap.Push(&p.due, deletion{k, e.Channel, id, seq, e.Until})
}

// deletion is a message that the pass deletes later.
type deletion struct {
	key         []byte
	channel, id string
	seq         uint32
	at          int64
}

// deletions is a heap, ordered by key.
type deletions []deletion

func (d deletions) Len() int           { return len(d) }
func (d deletions) Less(i, j int) bool { return bytes.Compare(d[i].key, d[j].key) < 0 }
func (d deletions) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *deletions) Push(x any)        { *d = append(*d, x.(deletion)) }
func (d *deletions) Pop() any {
	old := *d
	x := old[len(old)-1]
	*d = old[:len(old)-1]
	return x
}

// isDue reports whether a deletion comes before a place; for nil, whether there is any deletion.
func (p *plan) isDue(key []byte) bool {
	return len(p.due) > 0 && (key == nil || bytes.Compare(p.due[0].key, key) < 0)
}

// deleteUntil writes the deletions up to a place; for nil, all. A deletion has both number and id,
// because Tidemark keeps ids for 90 days only.
func (p *plan) deleteUntil(key []byte) error {
	for p.isDue(key) {
		d := heap.Pop(&p.due).(deletion)
		if err := p.message(d.key, d.channel, d.at, &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MessageDeleted{
			MessageDeleted: &eventsv1.MessageDeleted{MessageId: d.id, Seq: d.seq},
		}}); err != nil {
			return err
		}
	}
	return nil
}

// joinedAtOnce is the largest number of users in one join event.
const joinedAtOnce = 1000

// joins are users who join a channel in the same millisecond.
type joins struct {
	key     []byte
	channel string
	at      int64
	history bool
	users   []string
}

// join adds a user to the pending join event, or begins a new one if they do not fit into it.
func (p *plan) join(key []byte, e *Event) error {
	j := &p.joins
	c := p.channel(e.Channel)
	history := c.direct || (c.seed > 0 && e.At < p.cut)
	if len(j.users) > 0 && (j.channel != e.Channel || j.at != e.At || j.history != history || len(j.users) == joinedAtOnce) {
		if err := p.writeJoins(); err != nil {
			return err
		}
	}
	j.key, j.channel, j.at, j.history = append(j.key[:0], key...), e.Channel, e.At, history
	j.users = append(j.users, e.User)
	return nil
}

// writeJoins writes the pending join event.
func (p *plan) writeJoins() error {
	j := &p.joins
	if len(j.users) == 0 {
		return nil
	}
	users := append([]string(nil), j.users...)
	j.users = j.users[:0]
	return p.message(j.key, j.channel, j.at, &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MembersJoined{
		MembersJoined: &eventsv1.MembersJoined{UserIds: users, CountHistory: j.history},
	}})
}

// message writes an event of chat.messages. Its record has the time of the event, so that consumers
// of the topic recognize it as history.
func (p *plan) message(key []byte, channel string, at int64, e *eventsv1.MessageEvent) error {
	e.ChannelId, e.OccurredAt = channel, timestamp(at)
	value, err := marshal(e)
	if err != nil {
		return err
	}
	return p.sink.write(key, events.Messages, channel, value, at)
}
