package events

import (
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events/eventsv1"
)

// Message decodes and validates a value of chat.messages into m, whatever m held before. After an
// error m is undefined.
//
// In addition to DESIGN §3, joins and leaves must name a user (no_target), a deletion must name the
// message by id or by seq, and thread_id, if set, must be a valid id.
func (d *Decoder) Message(value []byte, recordMillis int64, m *Message) error {
	*m = Message{IDs: reuse(m.IDs), HiddenFrom: reuse(m.HiddenFrom)}
	c, err := d.start(value, recordMillis, func() proto.Message { return new(eventsv1.MessageEvent) })
	if err != nil {
		return err
	}
	for c.next() {
		switch c.tag {
		case 1<<3 | wireBytes:
			m.ChannelID = c.text()
		case 2<<3 | wireBytes:
			d.at.merge(&c)
		case 9<<3 | wireVarint:
			d.minVersion = c.uint32()
		case 10<<3 | wireBytes:
			d.messageKind(m, KindMessagePosted)
			m.posted(&c)
		case 11<<3 | wireBytes:
			d.messageKind(m, KindMessageEdited)
			m.edited(&c)
		case 12<<3 | wireBytes:
			d.messageKind(m, KindMessageDeleted)
			m.deleted(&c)
		case 13<<3 | wireBytes:
			d.messageKind(m, KindMessagesPurged)
			d.purged(&c, m)
		case 14<<3 | wireBytes:
			d.messageKind(m, KindMembersJoined)
			m.members(&c)
		case 15<<3 | wireBytes:
			d.messageKind(m, KindMembersLeft)
			m.members(&c)
		case 16<<3 | wireBytes:
			d.messageKind(m, KindChannelDeleted)
			nothing(&c)
		case 17<<3 | wireBytes:
			d.messageKind(m, KindMessagesSeeded)
			m.seeded(&c)
		case 18<<3 | wireBytes:
			d.messageKind(m, KindChannelUpdated)
			m.updated(&c)
		default:
			c.skip()
		}
	}
	beyond := m.beyond()
	if err := d.finish(&c, value, m.Kind, beyond); err != nil {
		return err
	}
	if beyond != "" {
		m.forget()
	}
	return d.checkMessage(m)
}

// messageKind sets the kind. A different kind discards the fields of the previous one; the same
// kind again is merged with them.
func (d *Decoder) messageKind(m *Message, k Kind) {
	if m.Kind != k && m.Kind != KindNone {
		*m = Message{ChannelID: m.ChannelID, IDs: m.IDs[:0], HiddenFrom: m.HiddenFrom[:0]}
		d.target = wireTime{}
	}
	m.Kind = k
}

func (m *Message) posted(c *cursor) {
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireBytes:
			m.MessageID = sub.text()
		case 2<<3 | wireBytes:
			m.SenderID = sub.text()
		case 3<<3 | wireBytes:
			m.Preview = sub.text()
		case 4<<3 | wireBytes:
			m.ThreadID = sub.text()
		case 5<<3 | wireVarint:
			m.Broadcast = sub.bool()
		case 6<<3 | wireVarint:
			m.Silent = sub.bool()
		case 7<<3 | wireBytes:
			m.IDs = append(m.IDs, sub.text())
		case 8<<3 | wireVarint:
			m.MentionAll = sub.bool()
		case 9<<3 | wireVarint:
			m.MemberCount = sub.uint32()
		case 10<<3 | wireBytes:
			m.HiddenFrom = append(m.HiddenFrom, sub.text())
		case 11<<3 | wireVarint:
			m.MarksRead = sub.choice()
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

func (m *Message) edited(c *cursor) {
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireBytes:
			m.MessageID = sub.text()
		case 2<<3 | wireBytes:
			m.Preview = sub.text()
		case 3<<3 | wireBytes:
			m.IDs = append(m.IDs, sub.text())
		case 4<<3 | wireVarint:
			m.MentionAll = sub.bool()
		case 5<<3 | wireVarint:
			m.KeepMentions = sub.bool()
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

func (m *Message) deleted(c *cursor) {
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireBytes:
			m.MessageID = sub.text()
		case 2<<3 | wireVarint:
			m.Seq = sub.uint32()
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

func (m *Message) seeded(c *cursor) {
	sub := c.message()
	for sub.next() {
		if sub.tag == 1<<3|wireVarint {
			m.Count = sub.uint32()
		} else {
			sub.skip()
		}
	}
	c.done(&sub)
}

func (m *Message) updated(c *cursor) {
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireBytes:
			m.IDs = append(m.IDs, sub.text())
		case 2<<3 | wireVarint:
			m.Archived = sub.bool()
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

func (d *Decoder) purged(c *cursor, m *Message) {
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireBytes:
			m.Target, m.MessageID, m.Seq = TargetMessageID, sub.text(), 0
		case 2<<3 | wireVarint:
			m.Target, m.MessageID, m.Seq = TargetSeq, nil, sub.uint32()
		case 3<<3 | wireBytes:
			if m.Target != TargetTime {
				m.Target, m.MessageID, m.Seq, d.target = TargetTime, nil, 0, wireTime{}
			}
			d.target.merge(&sub)
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

// members decodes joins and leaves. Only joins have count_history.
func (m *Message) members(c *cursor) {
	sub := c.message()
	for sub.next() {
		switch {
		case sub.tag == 1<<3|wireBytes:
			m.IDs = append(m.IDs, sub.text())
		case sub.tag == 2<<3|wireVarint && m.Kind == KindMembersJoined:
			m.CountHistory = sub.bool()
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

// nothing decodes a message without fields.
func nothing(c *cursor) {
	sub := c.message()
	for sub.next() {
		sub.skip()
	}
	c.done(&sub)
}
