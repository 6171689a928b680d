package random

import (
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
)

// later returns the time at which the log received an event whose occurred_at is at. It comes from
// another clock, so it may be earlier.
func (m *mix) later(t *rapid.T, at int64) int64 {
	return max(script.Start, at+rapid.SampledFrom([]int64{-second, second, day, 8 * day}).Draw(t, "later by"))
}

type readDraw struct {
	event     *events.Read
	timestamp int64
}

func (m *mix) read(t *rapid.T) readDraw {
	e := &events.Read{
		Kind: rapid.SampledFrom(m.readKinds).Draw(t, "kind"), ChannelID: m.channel(t), UserID: m.user(t), OccurredAt: m.time(t),
	}
	d := readDraw{event: e, timestamp: e.OccurredAt}
	if oneIn(t, 4, "recorded later") {
		d.timestamp = m.later(t, d.timestamp)
	}
	switch e.Kind {
	case events.KindReadUpTo:
		m.target(t, e)
		m.epoch(t, e)
		e.Private = oneIn(t, 5, "private")
	case events.KindMessagesRead:
		for range rapid.IntRange(1, 3).Draw(t, "how many") {
			e.IDs = append(e.IDs, m.anyID(t))
		}
		m.epoch(t, e)
		e.Private = oneIn(t, 5, "private")
	case events.KindMarkedUnread:
		e.MessageID = m.anyID(t)
		if oneIn(t, 4, "with seq") {
			if e.Seq = m.anySeq(t, 1); oneIn(t, 2, "by seq alone") {
				e.MessageID = nil
			}
		}
		switch rapid.IntRange(0, 3).Draw(t, "head") {
		case 1:
			e.HeadSeq = m.anySeq(t, 1)
		case 2:
			e.HeadMessageID = m.anyID(t)
		case 3:
			if oneIn(t, 4, "both heads") {
				e.HeadSeq, e.HeadMessageID = m.anySeq(t, 1), m.anyID(t)
			}
		}
	case events.KindChannelMuted:
		e.Muted = rapid.Bool().Draw(t, "muted")
	case events.KindThreadFollowed, events.KindThreadUnfollowed:
		e.ThreadID = m.thread(t)
	}
	if len(e.ThreadID) == 0 && oneIn(t, m.threads, "in a thread") && e.Kind != events.KindChannelMuted && e.Kind < events.KindUserErased {
		e.ThreadID = m.thread(t)
	}
	if m.parts != nil {
		m.moreRead(t, e)
	}
	if oneIn(t, 4, "instance") {
		e.InstanceID = []byte(rapid.SampledFrom([]string{"phone", "desk"}).Draw(t, "from"))
	}
	return d
}

func (m *mix) target(t *rapid.T, e *events.Read) {
	e.Target = rapid.SampledFrom([]events.Target{
		events.TargetMessageID, events.TargetMessageID, events.TargetSeq, events.TargetTime,
	}).Draw(t, "target")
	if m.timely && !oneIn(t, 4, "as all others") {
		e.Target = events.TargetTime
	}
	switch e.Target {
	case events.TargetMessageID:
		e.MessageID = m.anyID(t)
	case events.TargetSeq:
		e.Seq = m.anySeq(t, 1)
	case events.TargetTime:
		e.TargetTime = m.time(t)
	}
}

func (m *mix) epoch(t *rapid.T, e *events.Read) {
	if oneIn(t, 3, "epoch stated") {
		e.ReadEpoch = rapid.Uint32Range(1, 4).Draw(t, "epoch")
	}
}

type deliveryDraw struct {
	event     *events.Delivery
	timestamp int64
}

func (m *mix) delivery(t *rapid.T) deliveryDraw {
	e := &events.Delivery{ChannelID: m.channel(t), UserID: m.user(t), OccurredAt: m.time(t)}
	d := deliveryDraw{event: e, timestamp: e.OccurredAt}
	if oneIn(t, 4, "recorded later") {
		d.timestamp = m.later(t, d.timestamp)
	}
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		e.Kind, e.MessageID = events.KindDelivered, m.anyID(t)
	case 1:
		e.Kind, e.UpToID = events.KindDelivered, m.anyID(t)
	default:
		e.Kind, e.MessageID = events.KindQueued, m.anyID(t)
	}
	return d
}
