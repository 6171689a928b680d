package events

// AppendChannelRecord appends the value of a record of tidemark.channels. Equal records have equal
// bytes. Latest.At must not be negative.
func AppendChannelRecord(b []byte, r *ChannelRecord) []byte {
	b = appendText(b, 1, r.ChannelID)
	b = appendHead(b, 2, &r.Latest)
	b = appendUint(b, 3, uint64(r.HeadSeq))
	b = appendUint(b, 4, uint64(r.HeadPos))
	b = appendUint(b, 5, uint64(r.MemberCount))
	b = appendPacked(b, 6, r.Holes)
	b = appendUint(b, 7, uint64(r.HolesFloor))
	b = appendPacked(b, 8, r.Alls)
	b = appendUint(b, 9, uint64(r.AllsFloor))
	b = appendUint(b, 10, uint64(r.PurgedPos))
	b = appendBool(b, 11, r.Large)
	b = appendBool(b, 12, r.Deleted)
	b = appendStamp(b, 13, &r.Stamp)
	b = appendTexts(b, 14, r.Labels)
	return appendBool(b, 15, r.Archived)
}

// DecodeChannelRecord decodes a value of tidemark.channels into r, in the way of DecodeUnreadDelta.
func DecodeChannelRecord(value []byte, r *ChannelRecord) error {
	*r = ChannelRecord{Holes: r.Holes[:0], Alls: r.Alls[:0], Labels: r.Labels[:0]}
	var latestAt wireTime
	c := cursor{b: value}
	for c.next() {
		switch c.tag {
		case 1<<3 | wireBytes:
			r.ChannelID = c.text()
		case 2<<3 | wireBytes:
			r.Latest.decode(&c, &latestAt)
		case 3<<3 | wireVarint:
			r.HeadSeq = c.uint32()
		case 4<<3 | wireVarint:
			r.HeadPos = c.uint32()
		case 5<<3 | wireVarint:
			r.MemberCount = c.uint32()
		case 6<<3 | wireBytes:
			r.Holes = c.packed(r.Holes)
		case 6<<3 | wireVarint:
			r.Holes = c.single(r.Holes)
		case 7<<3 | wireVarint:
			r.HolesFloor = c.uint32()
		case 8<<3 | wireBytes:
			r.Alls = c.packed(r.Alls)
		case 8<<3 | wireVarint:
			r.Alls = c.single(r.Alls)
		case 9<<3 | wireVarint:
			r.AllsFloor = c.uint32()
		case 10<<3 | wireVarint:
			r.PurgedPos = c.uint32()
		case 11<<3 | wireVarint:
			r.Large = c.bool()
		case 12<<3 | wireVarint:
			r.Deleted = c.bool()
		case 13<<3 | wireBytes:
			r.Stamp.decode(&c)
		case 14<<3 | wireBytes:
			r.Labels = append(r.Labels, c.text())
		case 15<<3 | wireVarint:
			r.Archived = c.bool()
		default:
			c.skip()
		}
	}
	if c.fault != faultNone {
		return c.err()
	}
	var err error
	r.Latest.At, err = outputMillis(&latestAt, "latest.at")
	return err
}
