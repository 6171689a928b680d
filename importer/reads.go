package importer

import (
	"bytes"
	"fmt"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// Stages of the second pass. Explicit follows, unfollows and mutes come last, because they win over
// reads, and over follows that result from messages.
const (
	stageRead     byte = 1 + iota
	stageFollowed      // because of a message that is not written; and single reads, behind the pointer of the user
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
				Target: &eventsv1.ReadUpTo_Seq{Seq: s.seq}, ThreadId: x.thread, Private: s.private, WithThreads: s.threads,
			}}
		default:
			return nil // there was no message yet
		}
		return p.addRead(stageRead, 0, at, x.thread, e)
	})
}

// named is how long Tidemark keeps the id of a message, less an hour.
const named = (90*24 - 1) * 60 * 60 * 1000

// single adds a single read, if Tidemark still has the id of its message.
func (p *plan) single(o Origin, e *Event) error {
	if e.At < max(p.cut, p.now-named) {
		p.problems.Add(o, "a message read although older ones are unread, and too old to be named: left unread", e.Channel+" "+e.User+" "+e.ID)
		return nil
	}
	k := append(append(append([]byte(e.Channel), 0), e.User...), 0)
	return p.singles.add(appendID(k, e.ID), e.append(nil))
}

// readAtOnce is the largest number of messages in one event of single reads.
const readAtOnce = 1000

// placeSingles turns the single reads of each user in each channel into events.
func (p *plan) placeSingles() error {
	var e, of Event
	var ids []string
	part := 0
	write := func() error {
		if len(ids) == 0 {
			return nil
		}
		x := &eventsv1.ReadEvent{
			ChannelId: of.Channel, UserId: of.User, OccurredAt: timestamp(p.now),
			Kind: &eventsv1.ReadEvent_MessagesRead{MessagesRead: &eventsv1.MessagesRead{MessageIds: ids, Private: of.Private}},
		}
		ids, part = nil, part+1
		return p.addRead(stageFollowed, byte(KindSingle), p.now, fmt.Sprintf("%09d", part), x)
	}
	var last []byte
	err := p.singles.walk(nil, func(key, value []byte) error {
		if bytes.Equal(key, last) {
			return nil // the source has this row twice
		}
		last = append(last[:0], key...)
		if err := e.decode(value); err != nil {
			return err
		}
		if e.Channel != of.Channel || e.User != of.User || len(ids) == readAtOnce {
			if err := write(); err != nil {
				return err
			}
			of = Event{Channel: e.Channel, User: e.User, Private: e.Private}
		}
		ids = append(ids, e.ID)
		return nil
	})
	if err != nil {
		return err
	}
	return write()
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
