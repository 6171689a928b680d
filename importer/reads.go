package importer

import (
	"bytes"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// Stages of the second pass. Explicit follows, unfollows and mutes come last: they win over reads,
// and over follows that result from messages.
const (
	stageRead     byte = 1 + iota
	stageFollowed      // because of a message that is not written
	stageSetting
)

// addSetting adds a follow, an unfollow or a mute to the second pass.
func (p *plan) addSetting(stage byte, e *Event) error {
	x := &eventsv1.ReadEvent{ChannelId: e.Channel, UserId: e.User, OccurredAt: timestamp(max(e.At, 1))}
	switch e.Kind {
	case KindFollow:
		x.Kind = &eventsv1.ReadEvent_ThreadFollowed{ThreadFollowed: &eventsv1.ThreadFollowed{ThreadId: e.Thread}}
	case KindUnfollow:
		x.Kind = &eventsv1.ReadEvent_ThreadUnfollowed{ThreadUnfollowed: &eventsv1.ThreadUnfollowed{ThreadId: e.Thread}}
	case KindMute:
		x.Kind = &eventsv1.ReadEvent_ChannelMuted{ChannelMuted: &eventsv1.ChannelMuted{Muted: true}}
	}
	return p.addRead(stage, byte(e.Kind), max(e.At, 1), e.Thread, x)
}

// addRead adds an event to the second pass.
func (p *plan) addRead(stage, kind byte, at int64, thread string, e *eventsv1.ReadEvent) error {
	value, err := marshal(e)
	if err != nil {
		return err
	}
	k := append(append([]byte{stage}, key(at, 0)...), e.ChannelId...)
	k = append(append(append(append(k, 0), e.UserId...), 0), thread...)
	k = append(k, 0, kind)
	return p.reads.add(k, append(appendText(nil, e.ChannelId), value...))
}

// placePointers turns the pointers into reads.
func (p *plan) placePointers() error {
	return p.eachPlace(func(all []pointer) error {
		x := &all[0]
		c := p.channel(x.channel)
		own := p.posters[pairOf(x.channel, x.user, x.thread)]
		s := p.settle(c, own, all)
		at := s.at
		if at == 0 {
			at = p.now
		}
		e := &eventsv1.ReadEvent{ChannelId: x.channel, UserId: x.user, OccurredAt: timestamp(at)}
		switch {
		case s.explicit && own != nil && own.last > s.seq:
			// The user's own later message would read everything before it. A marked_unread that
			// names the head wins over it.
			e.Kind = &eventsv1.ReadEvent_MarkedUnread{MarkedUnread: &eventsv1.MarkedUnread{
				MessageId: s.next, Seq: s.seq + 1, ThreadId: x.thread, HeadSeq: c.seq,
			}}
		case s.seq > 0:
			e.Kind = &eventsv1.ReadEvent_ReadUpTo{ReadUpTo: &eventsv1.ReadUpTo{
				Target: &eventsv1.ReadUpTo_Seq{Seq: s.seq}, ThreadId: x.thread, Private: s.private,
			}}
		default:
			return nil // there was no message yet
		}
		return p.addRead(stageRead, 0, at, x.thread, e)
	})
}

// writeReads is the second pass: it writes chat.reads. Its records have the time of the import, so
// that no read expires while it waits for its message.
func (p *plan) writeReads() error {
	var last []byte
	return p.reads.walk(nil, func(key, value []byte) error {
		if bytes.Equal(key, last) {
			return nil // the same read twice
		}
		last = append(last[:0], key...)
		r := reader{b: value}
		channel := r.text()
		if r.bad {
			return errRun
		}
		p.note()
		return p.sink.write(key, events.Reads, channel, append([]byte(nil), r.b...), p.now)
	})
}
