package events

import "strconv"

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
