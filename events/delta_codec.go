package events

// AppendUnreadDelta appends the value of a record of tidemark.unread. Equal deltas have equal
// bytes. LastReadAt is written if LastRead.Seq > 0 and it is not 0; times must not be negative.
func AppendUnreadDelta(b []byte, d *UnreadDelta) []byte {
	b = appendText(b, 1, d.UserID)
	b = appendText(b, 2, d.ChannelID)
	b = appendText(b, 3, d.ThreadID)
	b = appendBool(b, 4, d.Member)
	b = appendUint(b, 5, uint64(d.Unread))
	b = appendUint(b, 6, uint64(d.Mentions))
	b = appendUint(b, 7, uint64(d.OfflineUnread))
	b = appendRef(b, 8, &d.FirstUnread)
	b = appendRef(b, 9, &d.LastRead)
	if d.LastRead.Seq > 0 && d.LastReadAt != 0 {
		b = appendTime(b, 10, d.LastReadAt)
	}
	b = appendHead(b, 11, &d.Latest)
	b = appendBool(b, 12, d.Large)
	b = appendBool(b, 13, d.Muted)
	b = appendUint(b, 14, uint64(d.ReadEpoch))
	b = appendStamp(b, 15, &d.Stamp)
	b = appendText(b, 16, d.InstanceID)
	b = appendUint(b, 17, uint64(d.ReadPos))
	b = appendPacked(b, 18, d.Excluded)
	b = appendPacked(b, 19, d.Mentioned)
	b = appendUint(b, 20, uint64(d.DirectMentions))
	b = appendUint(b, 21, uint64(d.Level))
	if d.Until > 0 {
		b = appendTime(b, 22, d.Until)
	}
	b = appendBool(b, 23, d.IgnoreAll)
	b = appendBool(b, 24, d.Flagged)
	b = appendFiled(b, 25, d.Filed)
	b = appendRef(b, 26, &d.Line)
	b = appendUint(b, 27, uint64(d.LevelAfter))
	b = appendRef(b, 28, &d.FirstMention)
	b = appendBool(b, 29, d.Ask)
	b = appendTexts(b, 30, d.Labels)
	if d.TouchedAt > 0 {
		b = appendTime(b, 31, d.TouchedAt)
	}
	return b
}

// DecodeUnreadDelta decodes a value of tidemark.unread into d, whatever d held before. It reuses
// the lists of d; everything else borrows from value. Errors are *Error: the value is no
// UnreadDelta, or has a time outside of 1970 to 9999. After an error d is undefined.
//
// An empty value decodes to the zero delta: a consumer recognizes a tombstone by the record's nil
// value.
func DecodeUnreadDelta(value []byte, d *UnreadDelta) error {
	*d = UnreadDelta{Excluded: d.Excluded[:0], Mentioned: d.Mentioned[:0], Labels: d.Labels[:0]}
	var lastReadAt, latestAt, touchedAt, until wireTime
	c := cursor{b: value}
	for c.next() {
		switch c.tag {
		case 1<<3 | wireBytes:
			d.UserID = c.text()
		case 2<<3 | wireBytes:
			d.ChannelID = c.text()
		case 3<<3 | wireBytes:
			d.ThreadID = c.text()
		case 4<<3 | wireVarint:
			d.Member = c.bool()
		case 5<<3 | wireVarint:
			d.Unread = c.uint32()
		case 6<<3 | wireVarint:
			d.Mentions = c.uint32()
		case 7<<3 | wireVarint:
			d.OfflineUnread = c.uint32()
		case 8<<3 | wireBytes:
			d.FirstUnread.decode(&c)
		case 9<<3 | wireBytes:
			d.LastRead.decode(&c)
		case 10<<3 | wireBytes:
			lastReadAt.merge(&c)
		case 11<<3 | wireBytes:
			d.Latest.decode(&c, &latestAt)
		case 12<<3 | wireVarint:
			d.Large = c.bool()
		case 13<<3 | wireVarint:
			d.Muted = c.bool()
		case 14<<3 | wireVarint:
			d.ReadEpoch = c.uint32()
		case 15<<3 | wireBytes:
			d.Stamp.decode(&c)
		case 16<<3 | wireBytes:
			d.InstanceID = c.text()
		case 17<<3 | wireVarint:
			d.ReadPos = c.uint32()
		case 18<<3 | wireBytes:
			d.Excluded = c.packed(d.Excluded)
		case 18<<3 | wireVarint:
			d.Excluded = c.single(d.Excluded)
		case 19<<3 | wireBytes:
			d.Mentioned = c.packed(d.Mentioned)
		case 19<<3 | wireVarint:
			d.Mentioned = c.single(d.Mentioned)
		case 20<<3 | wireVarint:
			d.DirectMentions = c.uint32()
		case 20<<3 | wireBytes, 31<<3 | wireBytes: // 20: of fold version 1
			touchedAt.merge(&c)
		case 21<<3 | wireVarint:
			d.Level = c.level()
		case 22<<3 | wireBytes:
			until.merge(&c)
		case 23<<3 | wireVarint:
			d.IgnoreAll = c.bool()
		case 24<<3 | wireVarint:
			d.Flagged = c.bool()
		case 25<<3 | wireBytes:
			d.Filed.decode(&c)
		case 26<<3 | wireBytes:
			d.Line.decode(&c)
		case 27<<3 | wireVarint:
			d.LevelAfter = c.level()
		case 28<<3 | wireBytes:
			d.FirstMention.decode(&c)
		case 29<<3 | wireVarint:
			d.Ask = c.bool()
		case 30<<3 | wireBytes:
			d.Labels = append(d.Labels, c.text())
		default:
			c.skip()
		}
	}
	if c.fault != faultNone {
		return c.err()
	}
	var err error
	if d.LastReadAt, err = outputMillis(&lastReadAt, "last_read_at"); err != nil {
		return err
	}
	if d.TouchedAt, err = outputMillis(&touchedAt, "touched_at"); err != nil {
		return err
	}
	if d.Until, err = outputMillis(&until, "until"); err != nil {
		return err
	}
	d.Latest.At, err = outputMillis(&latestAt, "latest.at")
	return err
}
