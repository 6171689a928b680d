package events

import (
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events/eventsv1"
)

// Message decodes and validates a value of chat.messages into m, whatever m held before. After an
// error m is undefined.
//
// Beyond DESIGN §3: joins and leaves must name somebody (no_target), a deletion must name the
// message by id or by seq, and thread_id, where it is set, must be a valid id.
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

func (d *Decoder) checkMessage(m *Message) error {
	if !ValidID(m.ChannelID) {
		return invalidID("channel_id", m.ChannelID)
	}
	var err error
	if m.OccurredAt, err = d.clock.read(&d.at, "occurred_at"); err != nil {
		return err
	}
	switch m.Kind {
	case KindMessagePosted:
		err = m.checkPosted()
	case KindMessageEdited:
		m.Preview = cutPreview(m.Preview)
		if err = required("message_edited.message_id", m.MessageID); err == nil {
			err = each("message_edited.mentions", m.IDs)
		}
	case KindMessageDeleted:
		err = requiredOrSeq("message_deleted.message_id", m.MessageID, m.Seq)
	case KindMessagesPurged:
		m.TargetTime, err = d.checkTarget(&purgeTarget, m.Target, m.MessageID, m.Seq)
	case KindMessagesSeeded:
		if m.Count == 0 || m.Count > MaxSeeded {
			err = &Error{Reason: ReasonInvalidCount, Field: "messages_seeded.count", Detail: strconv.FormatUint(uint64(m.Count), 10) +
				" is not in the range from 1 to " + strconv.Itoa(MaxSeeded)}
		}
	case KindMembersJoined:
		err = checkList("members_joined.user_ids", m.IDs)
	case KindMembersLeft:
		err = checkList("members_left.user_ids", m.IDs)
	case KindChannelUpdated:
		err = checkLabels("channel_updated.labels", m.IDs)
	}
	m.ClockReplaced = d.clock.replaced
	return err
}

func (m *Message) checkPosted() error {
	m.Preview = cutPreview(m.Preview)
	if !ValidID(m.MessageID) {
		return invalidID("message_posted.message_id", m.MessageID)
	}
	if !ValidID(m.SenderID) && (len(m.SenderID) > 0 || !m.Silent) {
		return invalidID("message_posted.sender_id", m.SenderID)
	}
	if len(m.ThreadID) > 0 && !ValidID(m.ThreadID) {
		return invalidID("message_posted.thread_id", m.ThreadID)
	}
	if err := each("message_posted.mentions", m.IDs); err != nil || len(m.HiddenFrom) == 0 {
		return err
	}
	return checkBounded("message_posted.hidden_from", m.HiddenFrom)
}

// checkBounded checks a list of at most MaxListed ids.
func checkBounded(field string, ids [][]byte) error {
	if err := atMost(field, len(ids), MaxListed); err != nil {
		return err
	}
	return each(field, ids)
}

// requiredOrSeq checks an id that may be missing if a seq names the message.
func requiredOrSeq(field string, id []byte, seq uint32) error {
	if len(id) == 0 && seq != 0 {
		return nil
	}
	return required(field, id)
}

// checkList checks a list that must have an entry.
func checkList(field string, ids [][]byte) error {
	if len(ids) == 0 {
		return &Error{Reason: ReasonNoTarget, Field: field, Detail: "names nothing"}
	}
	return each(field, ids)
}

// targetFields are the names of the members of a target oneof.
type targetFields struct{ kind, id, seq, time string }

var (
	purgeTarget = targetFields{"messages_purged", "messages_purged.up_to_message_id", "messages_purged.up_to_seq", "messages_purged.up_to_time"}
	readTarget  = targetFields{"read_up_to", "read_up_to.message_id", "read_up_to.seq", "read_up_to.time"}
)

// checkTarget checks the target of a purge or a read. It returns the target's time, or 0 if the
// target is not a time.
func (d *Decoder) checkTarget(f *targetFields, t Target, id []byte, seq uint32) (int64, error) {
	switch t {
	case TargetMessageID:
		return 0, required(f.id, id)
	case TargetSeq:
		if seq == 0 {
			return 0, &Error{Reason: ReasonZeroSeq, Field: f.seq, Detail: "seqs count from 1"}
		}
		return 0, nil
	case TargetTime:
		return d.clock.read(&d.target, f.time)
	default:
		return 0, &Error{Reason: ReasonNoTarget, Field: f.kind, Detail: "its target is not set"}
	}
}
