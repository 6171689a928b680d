package processor

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// memberData is what a member tells the group about itself, in the user data of its join. It is encoded like a Protobuf
// message, so that members of different versions understand what they have in common:
//
//	1 string advertise     2 packed uint32 held
type memberData struct {
	Advertise string  // URL at which this member answers queries; empty if it does not
	Held      []int32 // partitions whose stores it has on disk, ascending
}

// maxAdvertise and maxHeld bound what is believed of another member's data.
const (
	maxAdvertise = 2048
	maxHeld      = 1 << 16
)

func (d *memberData) encode() []byte {
	var b []byte
	if d.Advertise != "" {
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		b = protowire.AppendString(b, d.Advertise)
	}
	if len(d.Held) > 0 {
		var packed []byte
		for _, p := range d.Held {
			packed = protowire.AppendVarint(packed, uint64(uint32(p)))
		}
		b = protowire.AppendTag(b, 2, protowire.BytesType)
		b = protowire.AppendBytes(b, packed)
	}
	return b
}

// decodeMemberData reads what encode wrote. What cannot be understood is left out: these are hints, and a member with
// none of them still takes part.
func decodeMemberData(b []byte) memberData {
	var d memberData
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return d
		}
		b = b[n:]
		if typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
				return d
			}
			b = b[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return d
		}
		b = b[n:]
		switch num {
		case 1:
			if len(v) <= maxAdvertise && utf8.Valid(v) {
				d.Advertise = string(v)
			}
		case 2:
			d.Held = unpack(v)
		}
	}
	return d
}

func unpack(b []byte) []int32 {
	var list []int32
	for len(b) > 0 && len(list) < maxHeld {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 || v > 1<<31-1 {
			return list
		}
		list = append(list, int32(v))
		b = b[n:]
	}
	return list
}
