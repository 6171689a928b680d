package reads

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/gateway/internal/frames"
)

// fillSettings is Fill for a user's settings of a channel.
func fillSettings(ev *eventsv1.ReadEvent, c *frames.Command, most int, head uint32) error {
	switch c.Type {
	case "channel.notify":
		return fillLevel(ev, c)
	case "channel.flag":
		if c.Flagged == nil {
			return frames.Refuse(frames.Invalid, "flagged is missing")
		}
		ev.Kind = &eventsv1.ReadEvent_FlagSet{FlagSet: &eventsv1.FlagSet{Flagged: *c.Flagged, HeadSeq: head}}
	case "channel.file":
		if c.Archived == nil {
			return frames.Refuse(frames.Invalid, "archived is missing")
		}
		ev.Kind = &eventsv1.ReadEvent_ChannelFiled{ChannelFiled: &eventsv1.ChannelFiled{Archived: *c.Archived, Keep: c.Keep, HeadSeq: head}}
	case "message.hide":
		if len(c.MessageIDs) > 0 || c.UpToSeq == 0 {
			if err := checkIDs(c.MessageIDs, most); err != nil {
				return err
			}
		}
		ev.Kind = &eventsv1.ReadEvent_MessagesHidden{MessagesHidden: &eventsv1.MessagesHidden{MessageIds: c.MessageIDs, UpToSeq: c.UpToSeq}}
	case "message.viewed":
		if err := checkIDs(c.MessageIDs, most); err != nil {
			return err
		}
		ev.Kind = &eventsv1.ReadEvent_MessagesViewed{MessagesViewed: &eventsv1.MessagesViewed{MessageIds: c.MessageIDs}}
	case "line.set":
		line := &eventsv1.LineSet{}
		switch {
		case c.MessageID != "":
			line.Target = &eventsv1.LineSet_MessageId{MessageId: c.MessageID}
		case c.Seq > 0:
			line.Target = &eventsv1.LineSet_Seq{Seq: c.Seq}
		default:
			return frames.Refuse(frames.Invalid, "message_id or seq is missing")
		}
		ev.Kind = &eventsv1.ReadEvent_LineSet{LineSet: line}
	case "labels.set":
		if c.Labels == nil {
			return frames.Refuse(frames.Invalid, "labels is missing; an empty list removes all labels")
		}
		ev.Kind = &eventsv1.ReadEvent_LabelsSet{LabelsSet: &eventsv1.LabelsSet{Labels: c.Labels}}
	}
	return nil
}

// fillLevel sets the notification level.
func fillLevel(ev *eventsv1.ReadEvent, c *frames.Command) error {
	if c.Level == "" {
		return frames.Refuse(frames.Invalid, "level is missing")
	}
	level, known := eventsv1.NotifySet_Level_value[c.Level]
	if !known {
		return frames.Refuse(frames.Invalid, "level: must be ALL, MENTIONS or NONE")
	}
	set := &eventsv1.NotifySet{Level: eventsv1.NotifySet_Level(level), IgnoreMentionAll: c.IgnoreMentionAll}
	if c.Until != "" {
		at, err := time.Parse(time.RFC3339Nano, c.Until)
		if err != nil {
			return frames.Refuse(frames.Invalid, "until: must be a time such as 2026-01-02T15:04:05Z")
		}
		set.Until = timestamppb.New(at)
	}
	ev.Kind = &eventsv1.ReadEvent_NotifySet{NotifySet: set}
	return nil
}

func checkIDs(ids []string, most int) error {
	if len(ids) == 0 {
		return frames.Refuse(frames.Invalid, "message_ids is empty")
	}
	if len(ids) > most {
		return frames.Refuse(frames.Exhausted, "message_ids has %d ids, the limit is %d", len(ids), most)
	}
	for _, id := range ids {
		if !events.ValidID([]byte(id)) {
			return frames.Refuse(frames.Invalid, "message_ids: each has 1 to %d bytes without control characters", events.MaxIDBytes)
		}
	}
	return nil
}
