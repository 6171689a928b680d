package packed

import (
	"encoding/binary"

	"github.com/tidemark/tidemark/events"
)

// Flags of a channel's record: the fields that follow, in this order.
const (
	channelLatest = 1 << iota
	channelHoles
	channelAlls
	channelPurged
	channelLabels
	channelArchived
	endOfChannelFlags
)

// AppendChannel appends a channel's record, with its stamp.
func AppendChannel(b []byte, r *events.ChannelRecord) []byte {
	flags := uint64(0)
	for _, f := range [...]struct {
		bit uint64
		is  bool
	}{
		{channelLatest, r.Latest.Seq > 0 || len(r.Latest.MessageID) > 0},
		{channelHoles, len(r.Holes) > 0 || r.HolesFloor > 0}, {channelAlls, len(r.Alls) > 0 || r.AllsFloor > 0},
		{channelPurged, r.PurgedPos > 0}, {channelLabels, len(r.Labels) > 0}, {channelArchived, r.Archived},
	} {
		if f.is {
			flags |= f.bit
		}
	}
	b = binary.AppendUvarint(append(b, Version), flags)
	b = appendOffset(appendUint(b, r.Stamp.FoldVersion), r.Stamp.M)
	b = appendUint(appendUint(appendUint(b, r.HeadSeq), r.HeadPos), r.MemberCount)
	if flags&channelLatest != 0 {
		b = binary.AppendVarint(appendUint(b, r.Latest.Seq), r.Latest.At)
		b = appendID(appendID(b, r.Latest.MessageID), r.Latest.SenderID)
		b = append(binary.AppendUvarint(b, uint64(len(r.Latest.Preview))), r.Latest.Preview...)
	}
	if flags&channelHoles != 0 {
		b = appendPositions(appendUint(b, r.HolesFloor), r.Holes)
	}
	if flags&channelAlls != 0 {
		b = appendPositions(appendUint(b, r.AllsFloor), r.Alls)
	}
	if flags&channelPurged != 0 {
		b = appendUint(b, r.PurgedPos)
	}
	if flags&channelLabels != 0 {
		b = appendLabels(b, r.Labels)
	}
	return b
}

// DecodeChannel decodes the result of AppendChannel into r, except for the channel's id. The ids of
// r may point into value.
func DecodeChannel(value []byte, r *events.ChannelRecord) error {
	in, err := begin(value, endOfChannelFlags)
	if err != nil {
		return err
	}
	r.Stamp = events.Stamp{FoldVersion: in.uint32(), M: in.offset()}
	r.HeadSeq, r.HeadPos, r.MemberCount = in.uint32(), in.uint32(), in.uint32()
	if in.flags&channelLatest != 0 {
		r.Latest.Seq, r.Latest.At = in.uint32(), in.time()
		r.Latest.MessageID, r.Latest.SenderID, r.Latest.Preview = in.id(), in.id(), in.text()
	}
	if in.flags&channelHoles != 0 {
		r.HolesFloor = in.uint32()
		r.Holes = in.positions(r.Holes[:0])
	}
	if in.flags&channelAlls != 0 {
		r.AllsFloor = in.uint32()
		r.Alls = in.positions(r.Alls[:0])
	}
	if in.flags&channelPurged != 0 {
		r.PurgedPos = in.uint32()
	}
	if in.flags&channelLabels != 0 {
		r.Labels = in.labels()
	}
	r.Archived = in.flags&channelArchived != 0
	return in.end()
}
