package random

import (
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
)

// messageDraw is an event without a time.
type messageDraw struct {
	event  *events.Message
	fresh  bool // a post with the next id, else with any id
	step   int64
	behind int64 // how far the sender's clock is behind; negative: ahead, at most the 5 minutes that the decoder allows
}

func (m *mix) message(t *rapid.T) messageDraw {
	e := &events.Message{Kind: rapid.SampledFrom(m.messageKinds).Draw(t, "kind"), ChannelID: m.channel(t)}
	d := messageDraw{event: e, step: rapid.SampledFrom(m.steps).Draw(t, "step")}
	if oneIn(t, 5, "late clock") {
		d.behind = rapid.SampledFrom([]int64{millisecond, second, minute, day, 30 * day, -second, -5 * minute}).Draw(t, "behind")
	}
	switch e.Kind {
	case events.KindMessagePosted:
		d.fresh = !oneIn(t, m.repeats, "any id")
		e.MessageID, e.SenderID = m.anyID(t), m.user(t)
		e.Preview = []byte(rapid.SampledFrom([]string{"", "hi", "ho"}).Draw(t, "preview"))
		if e.Silent = oneIn(t, 8, "silent"); e.Silent && oneIn(t, 2, "no sender") {
			e.SenderID = nil
		}
		if oneIn(t, (m.threads+1)/2, "reply") {
			e.ThreadID = m.thread(t)
			e.Broadcast = oneIn(t, 3, "broadcast")
		}
		m.mentions(t, e)
		if oneIn(t, 6, "members stated") {
			e.MemberCount = rapid.SampledFrom([]uint32{1, 2, 50, 51}).Draw(t, "members")
		}
		m.morePost(t, e)
	case events.KindMessageEdited:
		e.MessageID = m.anyID(t)
		e.Preview = []byte(rapid.SampledFrom([]string{"", "hi", "edited"}).Draw(t, "preview"))
		m.mentions(t, e)
		e.KeepMentions = oneIn(t, 4, "keep mentions")
	case events.KindMessageDeleted:
		e.MessageID = m.anyID(t)
		if oneIn(t, 3, "with seq") {
			if e.Seq = m.anySeq(t, 1); oneIn(t, 2, "by seq alone") {
				e.MessageID = nil
			}
		}
	case events.KindMessagesSeeded:
		e.Count = uint32(rapid.IntRange(1, 20).Draw(t, "count"))
	case events.KindMessagesPurged:
		m.purge(t, e)
	case events.KindChannelUpdated:
		e.IDs, e.Archived = m.labels(t), oneIn(t, 3, "archived")
	case events.KindMembersJoined:
		e.IDs = m.some(t, 1)
		e.CountHistory = oneIn(t, 3, "count history")
	case events.KindMembersLeft:
		e.IDs = m.some(t, 1)
	}
	return d
}

func (m *mix) mentions(t *rapid.T, e *events.Message) {
	if oneIn(t, 3, "mentions") {
		e.IDs = m.some(t, 0)
		e.MentionAll = oneIn(t, 3, "mention all")
	}
}

func (m *mix) purge(t *rapid.T, e *events.Message) {
	e.Target = rapid.SampledFrom([]events.Target{events.TargetMessageID, events.TargetSeq, events.TargetTime}).Draw(t, "target")
	switch e.Target {
	case events.TargetMessageID:
		e.MessageID = m.anyID(t)
	case events.TargetSeq:
		e.Seq = m.anySeq(t, 1)
	case events.TargetTime:
		e.TargetTime = m.time(t)
	}
}
