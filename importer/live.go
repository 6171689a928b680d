package importer

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// Record is an event as a record of an input topic.
type Record struct {
	In      events.Input
	Channel string
	Value   []byte
	Millis  int64 // time of the record
}

// Live returns the records of an event that a bridge has just seen. Unlike an import, a bridge does
// not sort. Live changes the event so that Tidemark accepts it, and adds to p what it changes or
// leaves out.
func Live(p *Problems, o Origin, e *Event, now int64) ([]Record, error) {
	check := plan{now: now, clock: now + events.MaxClockAhead, problems: p}
	if !check.usable(o, e) {
		return nil, nil
	}
	l := live{now: now, at: max(e.At, 1), e: e}
	switch e.Kind {
	case KindMember, KindPost, KindEdit, KindDelete, KindLeave, KindChannelDeleted:
		l.message()
	case KindPointer:
		l.pointer()
	case KindSingle:
		l.singles()
	case KindFollow, KindUnfollow, KindMute, KindUnmute:
		l.setting()
	}
	return l.records, l.failed
}

// live collects the records of an event.
type live struct {
	now, at int64
	e       *Event
	records []Record
	failed  error
}

func (l *live) add(in events.Input, e proto.Message, millis int64) {
	value, err := marshal(e)
	l.failed = firstOf(l.failed, err)
	l.records = append(l.records, Record{in, l.e.Channel, value, millis})
}

// addMessage adds an event of chat.messages. Its record has the time of the event, so that a late
// event is history for consumers that notify users.
func (l *live) addMessage(at int64, e *eventsv1.MessageEvent) {
	e.ChannelId, e.OccurredAt = l.e.Channel, timestamp(at)
	l.add(events.Messages, e, min(at, l.now))
}

func (l *live) message() {
	e := l.e
	switch e.Kind {
	case KindMember:
		l.addMessage(l.at, &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MembersJoined{
			MembersJoined: &eventsv1.MembersJoined{UserIds: []string{e.User}, CountHistory: e.Direct},
		}})
		if e.Until > 0 {
			l.leave(e.Until)
		}
	case KindLeave:
		l.leave(l.at)
	case KindPost:
		posted := &eventsv1.MessagePosted{
			MessageId: e.ID, SenderId: e.User, Preview: e.Text, ThreadId: e.Thread, Broadcast: e.Broadcast && e.Thread != "",
			Silent: e.Silent, Mentions: e.Mentions, MentionAll: e.MentionAll,
		}
		if e.Explicit {
			posted.MarksRead = proto.Bool(false)
		}
		l.addMessage(l.at, &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MessagePosted{MessagePosted: posted}})
		if e.Until > 0 {
			l.remove(e.Until)
		}
	case KindEdit:
		l.addMessage(l.at, &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MessageEdited{
			MessageEdited: &eventsv1.MessageEdited{MessageId: e.ID, Preview: e.Text, Mentions: e.Mentions, MentionAll: e.MentionAll},
		}})
	case KindDelete:
		l.remove(l.at)
	case KindChannelDeleted:
		l.addMessage(l.at, &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_ChannelDeleted{ChannelDeleted: &eventsv1.ChannelDeleted{}}})
	}
}

func (l *live) leave(at int64) {
	l.addMessage(at, &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MembersLeft{MembersLeft: &eventsv1.MembersLeft{UserIds: []string{l.e.User}}}})
}

func (l *live) remove(at int64) {
	l.addMessage(at, &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MessageDeleted{MessageDeleted: &eventsv1.MessageDeleted{MessageId: l.e.ID}}})
}

// read adds an event of chat.reads. Its record has the current time, so that it does not expire
// while it waits for its message.
func (l *live) read(at int64, e *eventsv1.ReadEvent) {
	e.ChannelId, e.UserId, e.OccurredAt = l.e.Channel, l.e.User, timestamp(at)
	l.add(events.Reads, e, l.now)
}

// pointer reads up to a place. If the product's pointer has moved back, or is before a message of
// the user's own, a mark at the next message follows. Together, the two set the pointer to that
// place, wherever it was.
func (l *live) pointer() {
	e := l.e
	at := e.Until
	if at == 0 {
		at = l.now
	}
	read := &eventsv1.ReadUpTo{ThreadId: e.Thread, Private: e.Private, WithThreads: e.Threads}
	switch {
	case e.ID != "":
		read.Target = &eventsv1.ReadUpTo_MessageId{MessageId: e.ID}
	case e.At > 0:
		read.Target = &eventsv1.ReadUpTo_Time{Time: timestamp(e.At)}
	default:
		return
	}
	l.read(at, &eventsv1.ReadEvent{Kind: &eventsv1.ReadEvent_ReadUpTo{ReadUpTo: read}})
	if e.Next != "" {
		l.read(at, &eventsv1.ReadEvent{Kind: &eventsv1.ReadEvent_MarkedUnread{MarkedUnread: &eventsv1.MarkedUnread{MessageId: e.Next, ThreadId: e.Thread}}})
	}
}

// singles reads messages although older ones are unread. Tidemark ignores those that it no longer
// has by their ids.
func (l *live) singles() {
	for ids := range slices.Chunk(append([]string{l.e.ID}, l.e.More...), readAtOnce) {
		l.read(l.now, &eventsv1.ReadEvent{Kind: &eventsv1.ReadEvent_MessagesRead{MessagesRead: &eventsv1.MessagesRead{MessageIds: ids, Private: l.e.Private}}})
	}
}

func (l *live) setting() {
	e, x := l.e, &eventsv1.ReadEvent{}
	switch e.Kind {
	case KindFollow:
		x.Kind = &eventsv1.ReadEvent_ThreadFollowed{ThreadFollowed: &eventsv1.ThreadFollowed{ThreadId: e.Thread}}
	case KindUnfollow:
		x.Kind = &eventsv1.ReadEvent_ThreadUnfollowed{ThreadUnfollowed: &eventsv1.ThreadUnfollowed{ThreadId: e.Thread}}
	case KindMute, KindUnmute:
		x.Kind = &eventsv1.ReadEvent_ChannelMuted{ChannelMuted: &eventsv1.ChannelMuted{Muted: e.Kind == KindMute}}
	}
	l.read(l.at, x)
}
