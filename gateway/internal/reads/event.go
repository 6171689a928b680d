package reads

import (
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/gateway/internal/frames"
)

// Types are the types of frames that become events.
var Types = map[string]bool{
	"mark_read": true, "mark_unread": true, "messages_read": true, "thread.follow": true, "thread.unfollow": true, "channel.mute": true,
	"channel.notify": true, "channel.flag": true, "channel.file": true, "message.hide": true, "message.viewed": true, "line.set": true,
	"labels.set": true,
}

// Fill sets the kind of an event of a user in a channel from a frame. The frame may name at most
// most messages, and its type is one of Types. head is the newest message that the client was sent,
// for a frame that does not state a head. The error describes a fault of the frame.
func Fill(ev *eventsv1.ReadEvent, c *frames.Command, most int, head uint32) error {
	if c.HeadSeq > 0 {
		head = c.HeadSeq
	}
	switch c.Type {
	case "mark_read":
		if c.WithThreads && c.ThreadID != "" {
			return frames.Refuse(frames.Invalid, "with_threads reads a channel and its threads: leave out thread_id")
		}
		read := &eventsv1.ReadUpTo{ThreadId: c.ThreadID, Private: c.Private, WithThreads: c.WithThreads, ReadEpoch: c.ReadEpoch}
		switch {
		case c.MessageID != "":
			read.Target = &eventsv1.ReadUpTo_MessageId{MessageId: c.MessageID}
		case c.Seq > 0:
			read.Target = &eventsv1.ReadUpTo_Seq{Seq: c.Seq}
		default:
			return frames.Refuse(frames.Invalid, "message_id or seq is missing")
		}
		ev.Kind = &eventsv1.ReadEvent_ReadUpTo{ReadUpTo: read}
	case "mark_unread":
		if err := frames.Need("message_id", c.MessageID); err != nil {
			return err
		}
		ev.Kind = &eventsv1.ReadEvent_MarkedUnread{MarkedUnread: &eventsv1.MarkedUnread{
			MessageId: c.MessageID, ThreadId: c.ThreadID, HeadSeq: head,
		}}
	case "messages_read":
		if err := checkIDs(c.MessageIDs, most); err != nil {
			return err
		}
		ev.Kind = &eventsv1.ReadEvent_MessagesRead{MessagesRead: &eventsv1.MessagesRead{
			MessageIds: c.MessageIDs, Private: c.Private, ThreadId: c.ThreadID,
		}}
	case "thread.follow", "thread.unfollow":
		if err := frames.Need("thread_id", c.ThreadID); err != nil {
			return err
		}
		if c.Type == "thread.follow" {
			ev.Kind = &eventsv1.ReadEvent_ThreadFollowed{ThreadFollowed: &eventsv1.ThreadFollowed{ThreadId: c.ThreadID}}
		} else {
			ev.Kind = &eventsv1.ReadEvent_ThreadUnfollowed{ThreadUnfollowed: &eventsv1.ThreadUnfollowed{ThreadId: c.ThreadID}}
		}
	case "channel.mute":
		if c.Muted == nil {
			return frames.Refuse(frames.Invalid, "muted is missing")
		}
		ev.Kind = &eventsv1.ReadEvent_ChannelMuted{ChannelMuted: &eventsv1.ChannelMuted{Muted: *c.Muted}}
	default:
		if err := fillSettings(ev, c, most, head); err != nil {
			return err
		}
	}
	return check(ev, c)
}

// check validates an event of version 2 as a processor of this build would. An event that would
// stop a processor, or become a dead letter, is not written. Everything that can be wrong in an
// event of version 1 was checked before.
func check(ev *eventsv1.ReadEvent, c *frames.Command) error {
	events.StateVersion(ev)
	if ev.MinVersion == 0 {
		return nil
	}
	value, err := proto.Marshal(ev)
	if err != nil {
		return frames.Refuse(frames.Invalid, "%s: %v", c.Type, err)
	}
	var d events.Decoder
	err = d.Read(value, ev.OccurredAt.AsTime().UnixMilli(), new(events.Read))
	var bad *events.Error
	switch {
	case errors.Is(err, events.ErrNewerVersion):
		return frames.Refuse(frames.Unimplemented, "%s: this version of Tidemark does not have it yet", c.Type)
	case errors.As(err, &bad):
		return frames.Refuse(frames.Invalid, "%s: %s", bad.Field, bad.Detail)
	}
	return err
}
