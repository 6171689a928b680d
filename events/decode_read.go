package events

import (
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events/eventsv1"
)

// Read decodes and validates a value of chat.reads into r, whatever r held before. After an error r
// is undefined.
//
// In addition to DESIGN §3, messages_read, messages_hidden and messages_viewed must name a message
// (no_target), thread_followed and thread_unfollowed a thread, and marked_unread a message by id or
// by seq; instance_id, thread_id and head_message_id, if set, must be valid ids.
func (d *Decoder) Read(value []byte, recordMillis int64, r *Read) error {
	if plainRead(value, recordMillis, r) {
		return nil
	}
	return d.readFields(value, recordMillis, r)
}

// readFields decodes any value, field by field.
func (d *Decoder) readFields(value []byte, recordMillis int64, r *Read) error {
	*r = Read{IDs: reuse(r.IDs)}
	c, err := d.start(value, recordMillis, func() proto.Message { return new(eventsv1.ReadEvent) })
	if err != nil {
		return err
	}
	for c.next() {
		switch c.tag {
		case 1<<3 | wireBytes:
			r.ChannelID = c.text()
		case 2<<3 | wireBytes:
			r.UserID = c.text()
		case 3<<3 | wireBytes:
			d.at.merge(&c)
		case 4<<3 | wireBytes:
			r.InstanceID = c.text()
		case 9<<3 | wireVarint:
			d.minVersion = c.uint32()
		case 10<<3 | wireBytes:
			d.readKind(r, KindReadUpTo)
			d.readUpTo(&c, r)
		case 11<<3 | wireBytes:
			d.readKind(r, KindMessagesRead)
			r.messagesRead(&c)
		case 12<<3 | wireBytes:
			d.readKind(r, KindMarkedUnread)
			r.markedUnread(&c)
		case 13<<3 | wireBytes:
			d.readKind(r, KindThreadFollowed)
			r.thread(&c)
		case 14<<3 | wireBytes:
			d.readKind(r, KindThreadUnfollowed)
			r.thread(&c)
		case 15<<3 | wireBytes:
			d.readKind(r, KindChannelMuted)
			r.muted(&c)
		case 16<<3 | wireBytes:
			d.readKind(r, KindUserErased)
			nothing(&c)
		case 17<<3 | wireBytes, 18<<3 | wireBytes, 19<<3 | wireBytes, 20<<3 | wireBytes, 21<<3 | wireBytes,
			22<<3 | wireBytes, 23<<3 | wireBytes:
			d.readMore(&c, r)
		default:
			c.skip()
		}
	}
	beyond := r.beyond()
	if err := d.finish(&c, value, r.Kind, beyond); err != nil {
		return err
	}
	if beyond != "" {
		r.WithThreads = false
	}
	return d.checkRead(r)
}

func (d *Decoder) readUpTo(c *cursor, r *Read) {
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireBytes:
			r.Target, r.MessageID, r.Seq = TargetMessageID, sub.text(), 0
		case 2<<3 | wireVarint:
			r.Target, r.MessageID, r.Seq = TargetSeq, nil, sub.uint32()
		case 3<<3 | wireBytes:
			if r.Target != TargetTime {
				r.Target, r.MessageID, r.Seq, d.target = TargetTime, nil, 0, wireTime{}
			}
			d.target.merge(&sub)
		case 4<<3 | wireBytes:
			r.ThreadID = sub.text()
		case 5<<3 | wireVarint:
			r.ReadEpoch = sub.uint32()
		case 6<<3 | wireVarint:
			r.Private = sub.bool()
		case 7<<3 | wireVarint:
			r.WithThreads = sub.bool()
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

func (r *Read) messagesRead(c *cursor) {
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireBytes:
			r.IDs = append(r.IDs, sub.text())
		case 2<<3 | wireVarint:
			r.ReadEpoch = sub.uint32()
		case 3<<3 | wireVarint:
			r.Private = sub.bool()
		case 4<<3 | wireBytes:
			r.ThreadID = sub.text()
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

func (r *Read) markedUnread(c *cursor) {
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireBytes:
			r.MessageID = sub.text()
		case 2<<3 | wireBytes:
			r.ThreadID = sub.text()
		case 3<<3 | wireBytes:
			r.HeadMessageID = sub.text()
		case 4<<3 | wireVarint:
			r.HeadSeq = sub.uint32()
		case 5<<3 | wireVarint:
			r.Seq = sub.uint32()
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

// thread decodes a follow or an unfollow.
func (r *Read) thread(c *cursor) {
	sub := c.message()
	for sub.next() {
		if sub.tag == 1<<3|wireBytes {
			r.ThreadID = sub.text()
		} else {
			sub.skip()
		}
	}
	c.done(&sub)
}

func (r *Read) muted(c *cursor) {
	sub := c.message()
	for sub.next() {
		if sub.tag == 1<<3|wireVarint {
			r.Muted = sub.bool()
		} else {
			sub.skip()
		}
	}
	c.done(&sub)
}

func (d *Decoder) checkRead(r *Read) error {
	if !ValidID(r.ChannelID) {
		return invalidID("channel_id", r.ChannelID)
	}
	if !ValidID(r.UserID) {
		return invalidID("user_id", r.UserID)
	}
	if len(r.InstanceID) > 0 && !ValidID(r.InstanceID) {
		return invalidID("instance_id", r.InstanceID)
	}
	var err error
	if r.OccurredAt, err = d.clock.read(&d.at, "occurred_at"); err != nil {
		return err
	}
	switch r.Kind {
	case KindReadUpTo:
		if r.TargetTime, err = d.checkTarget(&readTarget, r.Target, r.MessageID, r.Seq); err == nil {
			err = optional("read_up_to.thread_id", r.ThreadID)
		}
		if err == nil && r.WithThreads && len(r.ThreadID) > 0 {
			err = &Error{Reason: ReasonInvalidID, Field: "read_up_to.thread_id", Detail: "must be empty beside with_threads"}
		}
	case KindMessagesRead:
		if err = checkList("messages_read.message_ids", r.IDs); err == nil {
			err = optional("messages_read.thread_id", r.ThreadID)
		}
	case KindMarkedUnread:
		if err = requiredOrSeq("marked_unread.message_id", r.MessageID, r.Seq); err == nil {
			err = optional("marked_unread.thread_id", r.ThreadID)
		}
		if err == nil {
			err = optional("marked_unread.head_message_id", r.HeadMessageID)
		}
	case KindThreadFollowed:
		err = required("thread_followed.thread_id", r.ThreadID)
	case KindThreadUnfollowed:
		err = required("thread_unfollowed.thread_id", r.ThreadID)
	default:
		err = d.checkMore(r)
	}
	r.ClockReplaced = d.clock.replaced
	return err
}
