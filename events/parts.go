package events

// This file encodes and decodes the messages that several output records contain. An append
// function takes the number of the field in which it writes the message.

// IsZero reports whether r names no message.
func (r *Ref) IsZero() bool { return r.Seq == 0 && len(r.MessageID) == 0 }

// IsZero reports whether h names no message.
func (h *Head) IsZero() bool { return h.Seq == 0 && len(h.MessageID) == 0 }

func appendRef(b []byte, num uint64, r *Ref) []byte {
	if r.IsZero() {
		return b
	}
	b = appendLen(b, num, sizeText(r.MessageID)+sizeUint(uint64(r.Seq)))
	b = appendText(b, 1, r.MessageID)
	return appendUint(b, 2, uint64(r.Seq))
}

func (r *Ref) decode(c *cursor) {
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireBytes:
			r.MessageID = sub.text()
		case 2<<3 | wireVarint:
			r.Seq = sub.uint32()
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

func appendFiled(b []byte, num uint64, f Filed) []byte {
	if !f.Is {
		return b
	}
	b = appendLen(b, num, sizeBool(f.Keep)+sizeUint(uint64(f.Pos)))
	b = appendBool(b, 1, f.Keep)
	return appendUint(b, 2, uint64(f.Pos))
}

func (f *Filed) decode(c *cursor) {
	f.Is = true
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireVarint:
			f.Keep = sub.bool()
		case 2<<3 | wireVarint:
			f.Pos = sub.uint32()
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

func appendHead(b []byte, num uint64, h *Head) []byte {
	if h.IsZero() {
		return b
	}
	b = appendLen(b, num, sizeText(h.MessageID)+sizeUint(uint64(h.Seq))+sizeTime(h.At)+sizeText(h.SenderID)+
		sizeText(h.Preview)+sizeUint(uint64(h.Pos)))
	b = appendText(b, 1, h.MessageID)
	b = appendUint(b, 2, uint64(h.Seq))
	b = appendTime(b, 3, h.At)
	b = appendText(b, 4, h.SenderID)
	b = appendText(b, 5, h.Preview)
	return appendUint(b, 6, uint64(h.Pos))
}

// decode leaves the time to the caller, because another part of the field may follow.
func (h *Head) decode(c *cursor, at *wireTime) {
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireBytes:
			h.MessageID = sub.text()
		case 2<<3 | wireVarint:
			h.Seq = sub.uint32()
		case 3<<3 | wireBytes:
			at.merge(&sub)
		case 4<<3 | wireBytes:
			h.SenderID = sub.text()
		case 5<<3 | wireBytes:
			h.Preview = sub.text()
		case 6<<3 | wireVarint:
			h.Pos = sub.uint32()
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

func appendStamp(b []byte, num uint64, s *Stamp) []byte {
	if *s == (Stamp{}) {
		return b
	}
	b = appendLen(b, num, sizeUint(uint64(s.FoldVersion))+sizeUint(uint64(s.M))+sizeUint(uint64(s.R))+sizeUint(uint64(s.D)))
	b = appendUint(b, 1, uint64(s.FoldVersion))
	b = appendUint(b, 2, uint64(s.M))
	b = appendUint(b, 3, uint64(s.R))
	return appendUint(b, 4, uint64(s.D))
}

func (s *Stamp) decode(c *cursor) {
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireVarint:
			s.FoldVersion = sub.uint32()
		case 2<<3 | wireVarint:
			s.M = int64(sub.varint())
		case 3<<3 | wireVarint:
			s.R = int64(sub.varint())
		case 4<<3 | wireVarint:
			s.D = int64(sub.varint())
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

// outputMillis returns a time of an output record, 0 if it is missing.
func outputMillis(t *wireTime, field string) (int64, error) {
	if !t.set {
		return 0, nil
	}
	return t.millis(field)
}
