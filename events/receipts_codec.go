package events

// Receipt states how far a user has read or received, in a record of tidemark.receipts.
type Receipt struct {
	UserID    []byte
	MessageID []byte // empty if it has left the index
	Seq       uint32
	At        int64 // Unix milliseconds, not negative

	// WithThreads is set for a reader who also read each thread up to its last reply at or before
	// the message.
	WithThreads bool
}

// ReceiptsRecord is the value of a record of tidemark.receipts (DESIGN §7): the receipts that
// changed in one channel in one batch.
type ReceiptsRecord struct {
	ChannelID []byte
	Readers   []Receipt // users who read up to a message
	Delivered []Receipt // users to whom a message was delivered
	Viewed    []Receipt // users who played or opened a message
}

// AppendReceiptsRecord appends the value of a record of tidemark.receipts. Equal records have equal
// bytes.
func AppendReceiptsRecord(b []byte, r *ReceiptsRecord) []byte {
	b = appendText(b, 1, r.ChannelID)
	for i := range r.Readers {
		b = appendReceipt(b, 2, &r.Readers[i])
	}
	for i := range r.Delivered {
		b = appendReceipt(b, 3, &r.Delivered[i])
	}
	for i := range r.Viewed {
		b = appendReceipt(b, 4, &r.Viewed[i])
	}
	return b
}

func appendReceipt(b []byte, num uint64, r *Receipt) []byte {
	b = appendLen(b, num, sizeText(r.UserID)+sizeText(r.MessageID)+sizeUint(uint64(r.Seq))+sizeTime(r.At)+sizeBool(r.WithThreads))
	b = appendText(b, 1, r.UserID)
	b = appendText(b, 2, r.MessageID)
	b = appendUint(b, 3, uint64(r.Seq))
	b = appendTime(b, 4, r.At)
	return appendBool(b, 5, r.WithThreads)
}

// DecodeReceiptsRecord decodes a value of tidemark.receipts into r, in the way of
// DecodeUnreadDelta.
func DecodeReceiptsRecord(value []byte, r *ReceiptsRecord) error {
	*r = ReceiptsRecord{Readers: r.Readers[:0], Delivered: r.Delivered[:0], Viewed: r.Viewed[:0]}
	c := cursor{b: value}
	for c.next() {
		switch c.tag {
		case 1<<3 | wireBytes:
			r.ChannelID = c.text()
		case 2<<3 | wireBytes:
			x, err := decodeReceipt(&c, "readers.at")
			if err != nil {
				return err
			}
			r.Readers = append(r.Readers, x)
		case 3<<3 | wireBytes:
			x, err := decodeReceipt(&c, "delivered.at")
			if err != nil {
				return err
			}
			r.Delivered = append(r.Delivered, x)
		case 4<<3 | wireBytes:
			x, err := decodeReceipt(&c, "viewed.at")
			if err != nil {
				return err
			}
			r.Viewed = append(r.Viewed, x)
		default:
			c.skip()
		}
	}
	if c.fault != faultNone {
		return c.err()
	}
	return nil
}

func decodeReceipt(c *cursor, field string) (r Receipt, err error) {
	var at wireTime
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireBytes:
			r.UserID = sub.text()
		case 2<<3 | wireBytes:
			r.MessageID = sub.text()
		case 3<<3 | wireVarint:
			r.Seq = sub.uint32()
		case 4<<3 | wireBytes:
			at.merge(&sub)
		case 5<<3 | wireVarint:
			r.WithThreads = sub.bool()
		default:
			sub.skip()
		}
	}
	c.done(&sub)
	if c.fault == faultNone {
		r.At, err = outputMillis(&at, field)
	}
	return r, err
}
