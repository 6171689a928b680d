package records

import (
	"encoding/binary"

	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// AppendSpans encodes the memberships of a pair.
func AppendSpans(b []byte, spans []state.Membership) []byte {
	for _, m := range spans {
		b = binary.AppendUvarint(b, uint64(m.From))
		b = binary.AppendUvarint(b, uint64(m.To))
	}
	return b
}

// ReadSpans decodes the memberships of a pair.
func ReadSpans(r *wire.Reader) (out []state.Membership) {
	for len(r.B) > 0 && r.Err == nil {
		out = append(out, state.Membership{From: r.U32(), To: r.U32()})
	}
	return out
}

// AppendSizes encodes the messages at which a channel turned large and small.
func AppendSizes(b []byte, sizes []uint32) []byte {
	for _, s := range sizes {
		b = binary.AppendUvarint(b, uint64(s))
	}
	return b
}

// ReadSizes decodes the messages at which a channel turned large and small.
func ReadSizes(r *wire.Reader) (out []uint32) {
	for len(r.B) > 0 && r.Err == nil {
		out = append(out, r.U32())
	}
	return out
}

// floorNow is a bit of a floor's By in a record: the floor has a Now.
const floorNow = 1 << 7

// AppendUnsettled encodes a pair's open floors, then its held events in order. It appends nothing
// if there is neither.
func AppendUnsettled(b []byte, x *state.PairExtra) []byte {
	if len(x.Unsettled)+len(x.Floors) == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(x.Floors)))
	for _, f := range x.Floors {
		by := f.By
		if f.Now != 0 {
			by |= floorNow
		}
		b = append(b, by)
		b = binary.AppendVarint(b, f.Val)
		b = binary.AppendVarint(b, f.Horizon)
		if f.Now != 0 {
			b = binary.AppendVarint(b, f.Now)
		}
	}
	return AppendEvents(b, x.Unsettled)
}

// AppendEvents encodes waiting events.
func AppendEvents(b []byte, list []held.Event) []byte {
	for i := range list {
		h := &list[i]
		b = append(b, h.Kind, h.By, h.HeadBy, h.Use)
		b = wire.AppendBool(b, h.Closed)
		b = wire.AppendBool(b, h.Head)
		for _, v := range [...]int64{h.Offset, h.At, h.Horizon, h.Now, h.Time, int64(h.Seq), int64(h.HeadSeq)} {
			b = binary.AppendVarint(b, v)
		}
		b = wire.AppendBytes(b, h.ID)
		b = wire.AppendBytes(b, h.HeadID)
	}
	return b
}

// DecodeUnsettled decodes the result of AppendUnsettled.
func DecodeUnsettled(x *state.PairExtra, b []byte) error {
	r := wire.Reader{B: b}
	for n := r.Uvarint(); n > 0 && r.Err == nil; n-- {
		f := held.Floor{By: r.Byte(), Val: r.Varint(), Horizon: r.Varint()}
		if f.By&floorNow != 0 {
			f.By, f.Now = f.By&^floorNow, r.Varint()
		}
		x.Floors = append(x.Floors, f)
	}
	x.Unsettled = ReadEvents(&r)
	return r.Done()
}

// ReadEvents decodes a list of waiting events.
func ReadEvents(r *wire.Reader) (list []held.Event) {
	for len(r.B) > 0 && r.Err == nil {
		h := held.Event{Kind: r.Byte(), By: r.Byte(), HeadBy: r.Byte(), Use: r.Byte(), Closed: r.Byte() != 0, Head: r.Byte() != 0}
		h.Offset, h.At, h.Horizon, h.Now, h.Time = r.Varint(), r.Varint(), r.Varint(), r.Varint(), r.Varint()
		h.Seq, h.HeadSeq = uint32(r.Varint()), uint32(r.Varint())
		h.ID = append([]byte(nil), r.Bytes()...)
		h.HeadID = append([]byte(nil), r.Bytes()...)
		list = append(list, h)
	}
	return list
}
