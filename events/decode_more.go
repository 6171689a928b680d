package events

// This file decodes and checks the kinds of ReadEvent of DESIGN §4.7: levels, flags, filing, lines,
// labels, hidden and viewed messages.

// readMore decodes the kind at the cursor.
func (d *Decoder) readMore(c *cursor, r *Read) {
	switch c.tag >> 3 {
	case 17:
		d.readKind(r, KindNotifySet)
		d.notifySet(c, r)
	case 18:
		d.readKind(r, KindFlagSet)
		r.flagSet(c)
	case 19:
		d.readKind(r, KindChannelFiled)
		r.filed(c)
	case 20:
		d.readKind(r, KindMessagesHidden)
		r.hidden(c)
	case 21:
		d.readKind(r, KindLineSet)
		r.line(c)
	case 22:
		d.readKind(r, KindMessagesViewed)
		r.list(c)
	default:
		d.readKind(r, KindLabelsSet)
		r.list(c)
	}
}

func (d *Decoder) notifySet(c *cursor, r *Read) {
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireVarint:
			r.Level = sub.level()
		case 2<<3 | wireBytes:
			d.target.merge(&sub)
		case 3<<3 | wireVarint:
			r.IgnoreAll = sub.choice()
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

func (r *Read) flagSet(c *cursor) {
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireVarint:
			r.Flagged = sub.bool()
		case 2<<3 | wireVarint:
			r.HeadSeq = sub.uint32()
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

func (r *Read) filed(c *cursor) {
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireVarint:
			r.Archived = sub.bool()
		case 2<<3 | wireVarint:
			r.Keep = sub.bool()
		case 3<<3 | wireVarint:
			r.HeadSeq = sub.uint32()
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

func (r *Read) hidden(c *cursor) {
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireBytes:
			r.IDs = append(r.IDs, sub.text())
		case 2<<3 | wireVarint:
			r.Seq = sub.uint32()
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

func (r *Read) line(c *cursor) {
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireBytes:
			r.Target, r.MessageID, r.Seq = TargetMessageID, sub.text(), 0
		case 2<<3 | wireVarint:
			r.Target, r.MessageID, r.Seq = TargetSeq, nil, sub.uint32()
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

// list decodes the ids of viewed messages, or labels.
func (r *Read) list(c *cursor) {
	sub := c.message()
	for sub.next() {
		if sub.tag == 1<<3|wireBytes {
			r.IDs = append(r.IDs, sub.text())
		} else {
			sub.skip()
		}
	}
	c.done(&sub)
}

var lineTarget = targetFields{kind: "line_set", id: "line_set.message_id", seq: "line_set.seq"}

// checkMore checks what readMore has decoded.
func (d *Decoder) checkMore(r *Read) (err error) {
	switch r.Kind {
	case KindNotifySet:
		if r.Level >= NumLevels {
			return &Error{Reason: ReasonInvalidLevel, Field: "notify_set.level", Detail: "must be ALL, MENTIONS or NONE"}
		}
		if d.target.set {
			r.Until, err = d.target.millis("notify_set.until")
			r.Until = max(r.Until, 1)
		}
	case KindMessagesHidden:
		if len(r.IDs) == 0 && r.Seq == 0 {
			return &Error{Reason: ReasonNoTarget, Field: "messages_hidden", Detail: "names nothing"}
		}
		err = checkBounded("messages_hidden.message_ids", r.IDs)
	case KindLineSet:
		_, err = d.checkTarget(&lineTarget, r.Target, r.MessageID, r.Seq)
	case KindMessagesViewed:
		if err = checkList("messages_viewed.message_ids", r.IDs); err == nil {
			err = atMost("messages_viewed.message_ids", len(r.IDs), MaxListed)
		}
	case KindLabelsSet:
		err = checkLabels("labels_set.labels", r.IDs)
	}
	return err
}
