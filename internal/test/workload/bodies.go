package workload

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events/eventsv1"
)

// messageBody returns the body of an event of chat.messages.
func (w *Workload) messageBody(m *channel, k int) proto.Message {
	switch {
	case k == 5 && m.posted > 50 && w.oneIn(6):
		return &eventsv1.ChannelDeleted{}
	case k < 15:
		return w.purge(m)
	case k < 60:
		e := &eventsv1.MessageDeleted{MessageId: w.message(m)}
		return e
	case k < 100:
		e := &eventsv1.MessageEdited{MessageId: w.message(m), Preview: "edited", Mentions: w.mentions(m),
			MentionAll: w.oneIn(12), KeepMentions: w.oneIn(3)}
		return e
	case k < 145:
		e := &eventsv1.MembersJoined{UserIds: w.some(m, 4), CountHistory: w.oneIn(4)}
		return e
	case k < 175:
		return &eventsv1.MembersLeft{UserIds: w.some(m, 3)}
	}
	e := &eventsv1.MessagePosted{SenderId: w.user(m), Preview: fmt.Sprintf("hello %d", w.made), Mentions: w.mentions(m),
		MentionAll: w.oneIn(25), Silent: w.oneIn(12)}
	if w.oneIn(10) {
		e.ThreadId, e.Broadcast = w.message(m), w.oneIn(3)
	}
	if e.MessageId = w.message(m); !w.oneIn(25) { // otherwise it may be a duplicate
		e.MessageId = name(m.posted)
		m.posted++
	}
	if w.varied && w.oneIn(6) {
		e.MemberCount = uint32(1 + w.r.IntN(120)) // on either side of the receipt limit
	}
	if !w.parts.Nothing() {
		w.parts.Post(w.r, e, w.user(m))
	}
	return e
}

func (w *Workload) purge(m *channel) proto.Message {
	e := &eventsv1.MessagesPurged{}
	at := w.r.IntN(m.posted/4 + 1)
	switch w.r.IntN(3) {
	case 0:
		e.Target = &eventsv1.MessagesPurged_UpToMessageId{UpToMessageId: name(at)}
	case 1:
		e.Target = &eventsv1.MessagesPurged_UpToSeq{UpToSeq: uint32(at + 1)}
	default:
		e.Target = &eventsv1.MessagesPurged_UpToTime{UpToTime: w.past()}
	}
	return e
}

// readBody returns the body of an event of chat.reads.
func (w *Workload) readBody(m *channel) proto.Message {
	if w.oneIn(400) {
		return &eventsv1.UserErased{}
	}
	switch k := w.r.IntN(40); {
	case k < 22:
		r := &eventsv1.ReadUpTo{ReadEpoch: w.readEpoch(), Private: w.oneIn(8)}
		switch w.r.IntN(6) {
		case 0:
			r.Target = &eventsv1.ReadUpTo_Seq{Seq: uint32(1 + w.recent(m))}
		case 1:
			r.Target = &eventsv1.ReadUpTo_Time{Time: w.around()}
		default:
			r.Target = &eventsv1.ReadUpTo_MessageId{MessageId: name(w.recent(m))}
		}
		if w.oneIn(20) {
			r.ThreadId = w.message(m)
		}
		if w.varied && r.ThreadId == "" {
			r.ThreadId = w.scope(m)
		}
		w.parts.Read(w.r, r)
		return r
	case k < 29:
		r := &eventsv1.MessagesRead{ReadEpoch: w.readEpoch()}
		for range 1 + w.r.IntN(3) {
			r.MessageIds = append(r.MessageIds, name(w.recent(m)))
		}
		if w.varied {
			r.ThreadId, r.Private = w.scope(m), w.oneIn(8)
		}
		return r
	case k < 36:
		at := w.recent(m)
		r := &eventsv1.MarkedUnread{MessageId: name(at)}
		switch w.r.IntN(3) {
		case 0:
			r.HeadSeq = uint32(1 + at + w.r.IntN(4))
		case 1:
			r.HeadMessageId = name(at + w.r.IntN(4))
		}
		if w.varied {
			r.ThreadId = w.scope(m)
		}
		return r
	case k < 39:
		return &eventsv1.ChannelMuted{Muted: w.oneIn(2)}
	case w.oneIn(3):
		return &eventsv1.ThreadUnfollowed{ThreadId: w.message(m)}
	default:
		return &eventsv1.ThreadFollowed{ThreadId: w.message(m)}
	}
}

func (w *Workload) deliveryBody(m *channel) proto.Message {
	if w.oneIn(2) {
		return &eventsv1.Queued{MessageId: name(w.recent(m))}
	}
	d := &eventsv1.Delivered{Target: &eventsv1.Delivered_UpToMessageId{UpToMessageId: name(w.recent(m))}}
	if w.varied && w.oneIn(2) {
		d = &eventsv1.Delivered{Target: &eventsv1.Delivered_MessageId{MessageId: name(w.recent(m))}, DeviceId: "phone"}
	}
	return d
}

// scope returns the channel's own scope, now and then a thread: any of a few roots, whether the
// thread exists or not.
func (w *Workload) scope(m *channel) string {
	if !w.oneIn(5) {
		return ""
	}
	return name(w.r.IntN(min(m.posted, 40) + 1))
}
