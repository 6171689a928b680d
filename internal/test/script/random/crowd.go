package random

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
)

// DrawCrowd draws a case that begins with repetition: dozens of members, most of them inactive, and
// runs of dozens of posts, deletions, single reads or deliveries of one kind, or of members who
// leave and come back, so that the channel changes between large and small. Pages of members, sets,
// blocks and the index therefore outgrow a single record, which never happens in Draw. A case of
// Draw in the same channel follows. The offsets have gaps.
func DrawCrowd(t *rapid.T) *Case { return drawCrowd(t, nil) }

// DrawCrowdMore draws a case of DrawCrowd that also has some parts.
func DrawCrowdMore(parts ...Part) func(*rapid.T) *Case {
	return func(t *rapid.T) *Case { return drawCrowd(t, parts) }
}

func drawCrowd(t *rapid.T, parts []Part) *Case {
	m := drawMix(t)
	m.add(t, parts)
	c := m.settings(t)
	b := &beginning{mix: m, c: c, now: script.Start, channel: []byte(script.DefaultChannel)}
	b.join(t)
	for range rapid.IntRange(1, 6).Draw(t, "runs") {
		b.run(t, rapid.SampledFrom([]int{3, 20, 70, 120}).Draw(t, "run of"))
		b.now += rapid.SampledFrom(m.steps).Draw(t, "step")
	}
	m.ids, m.near = len(m.posted)+6, 12
	m.draw(t, c, b.now)
	gaps(t, &c.Log)
	return c
}

// beginning is the part of a case that DrawCrowd adds.
type beginning struct {
	*mix
	c       *Case
	now     int64
	channel []byte
	crowd   int  // p0 to p<crowd-1>
	away    bool // many members have left
}

func (b *beginning) message(e *events.Message) {
	e.ChannelID, e.OccurredAt = b.channel, b.now
	b.c.Log.Add(script.Record{Input: events.Messages, Timestamp: b.now, Message: e})
}

func (b *beginning) read(e *events.Read) {
	e.ChannelID, e.OccurredAt = b.channel, b.now
	b.c.Log.Add(script.Record{Input: events.Reads, Timestamp: b.now, Read: e})
}

func (b *beginning) deliver(e *events.Delivery) {
	e.ChannelID, e.OccurredAt = b.channel, b.now
	b.c.Log.Add(script.Record{Input: events.Deliveries, Timestamp: b.now, Delivery: e})
}

// join lets the crowd join. The active users join amid it, so that they are on any page of the
// members.
func (b *beginning) join(t *rapid.T) {
	crowd := rapid.SampledFrom([]int{0, 5, 48, 66, 130}).Draw(t, "crowd")
	b.crowd = crowd
	at := map[int][][]byte{}
	for _, u := range b.all() {
		n := rapid.IntRange(0, crowd+1).Draw(t, "joins after") // the last never joins here
		at[n] = append(at[n], u)
	}
	var ids [][]byte
	for n := range crowd + 1 {
		ids = append(ids, at[n]...)
		if n < crowd {
			ids = append(ids, fmt.Appendf(nil, "p%d", n))
		}
	}
	for len(ids) > 0 {
		n := min(len(ids), rapid.SampledFrom([]int{1, 40, 100}).Draw(t, "at once"))
		b.message(&events.Message{Kind: events.KindMembersJoined, IDs: ids[:n], CountHistory: oneIn(t, 4, "count history")})
		ids = ids[n:]
	}
	if crowd > 0 && oneIn(t, 2, "some leave") {
		b.turn(t)
	}
	for range min(crowd, rapid.IntRange(0, 2).Draw(t, "of the crowd")) {
		u := fmt.Sprintf("p%d", rapid.IntRange(0, crowd-1).Draw(t, "who does something"))
		if !slices.Contains(b.users, u) {
			b.users = append(slices.Clip(b.users), u)
		}
	}
}

// turn lets a large part of the crowd leave, or come back.
func (b *beginning) turn(t *rapid.T) {
	e := &events.Message{Kind: events.KindMembersLeft, IDs: b.many(t)}
	if b.away {
		e.Kind, e.CountHistory = events.KindMembersJoined, oneIn(t, 4, "count history")
	}
	b.away = !b.away
	b.message(e)
}

// many returns a large part of the crowd.
func (b *beginning) many(t *rapid.T) (ids [][]byte) {
	every := rapid.IntRange(1, 3).Draw(t, "one in")
	for n := rapid.SampledFrom([]int{0, 0, b.crowd / 2}).Draw(t, "from"); n < b.crowd; n += every {
		ids = append(ids, fmt.Appendf(nil, "p%d", n))
	}
	return ids
}

// run adds n events of one kind.
func (b *beginning) run(t *rapid.T, n int) {
	who := b.user(t)
	if b.crowd > 0 && oneIn(t, 2, "they come and go") {
		b.turn(t)
		return
	}
	sort := rapid.IntRange(0, 10).Draw(t, "of")
	if len(b.posted) == 0 {
		sort = min(sort, 4)
	}
	if sort <= 4 {
		b.posts(t, sort, n, who)
		return
	}
	first, step := rapid.IntRange(1, len(b.posted)).Draw(t, "from"), rapid.IntRange(1, 2).Draw(t, "every")
	var ids [][]byte
	for i := first; i <= len(b.posted) && len(ids) < n; i += step {
		ids = append(ids, b.posted[i-1].MessageID)
	}
	if sort == 6 {
		for len(ids) > 0 {
			k := min(len(ids), 25)
			b.read(&events.Read{Kind: events.KindMessagesRead, UserID: who, IDs: ids[:k]})
			ids = ids[k:]
		}
		return
	}
	for i, id := range ids {
		switch sort {
		case 5:
			b.message(&events.Message{Kind: events.KindMessageDeleted, MessageID: id})
		case 7:
			b.read(&events.Read{Kind: events.KindReadUpTo, UserID: who, Target: events.TargetSeq, Seq: uint32(first + i*step)})
		case 8:
			b.deliver(&events.Delivery{Kind: events.KindDelivered, UserID: who, MessageID: id})
		case 9:
			b.deliver(&events.Delivery{Kind: events.KindQueued, UserID: who, MessageID: id})
		case 10:
			b.message(&events.Message{Kind: events.KindMessageEdited, MessageID: id, IDs: [][]byte{who}})
		}
	}
}

// posts adds n new messages of one kind.
func (b *beginning) posts(t *rapid.T, sort, n int, who []byte) {
	thread, broadcast := b.id(1), oneIn(t, 3, "broadcast")
	others := b.user(t)
	for range n {
		e := &events.Message{Kind: events.KindMessagePosted, MessageID: b.id(len(b.posted) + 1), SenderID: who}
		switch sort {
		case 1:
			e.Silent = true
		case 2:
			e.ThreadID, e.Broadcast = thread, broadcast
		case 3:
			e.IDs = [][]byte{others}
		case 4:
			e.MentionAll = true
		}
		b.message(e)
		b.posted = append(b.posted, e)
	}
}
