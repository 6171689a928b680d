package processor

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// memberData is what a member tells the group about itself, in the user data of its join. It is encoded like a Protobuf
// message, so that members of different versions understand what they have in common:
//
//	1 string advertise     2 packed uint32 held     3 packed uint32 open     4 packed uint64 at     5 uint32 standbys
//	6 string relay_key
type memberData struct {
	Advertise string          // URL at which this member answers queries; empty if it does not
	RelayKey  string          // what a caller there shows to be known as another node: only who may ask the group has it
	Held      []int32         // partitions whose stores it has on disk, ascending
	At        map[int32]int64 // how far it has folded those that it has open: the sum of a position's three offsets
	Standbys  int             // how many standbys it wants each partition to have
}

// maxAdvertise and maxHeld bound what is believed of another member's data.
const (
	maxAdvertise = 2048
	maxRelayKey  = 64
	maxHeld      = 1 << 16
	maxStandbys  = 16
)

func (d *memberData) encode() []byte {
	var b []byte
	if d.Advertise != "" {
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		b = protowire.AppendString(b, d.Advertise)
	}
	b = appendPacked(b, 2, d.Held)
	open := sortedKeys(d.At)
	at := make([]int64, len(open))
	for i, p := range open {
		at[i] = d.At[p]
	}
	b = appendPacked(b, 3, open)
	b = appendPacked(b, 4, at)
	if d.Standbys > 0 {
		b = protowire.AppendTag(b, 5, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(d.Standbys))
	}
	if d.RelayKey != "" {
		b = protowire.AppendTag(b, 6, protowire.BytesType)
		b = protowire.AppendString(b, d.RelayKey)
	}
	return b
}

// appendPacked appends a field of numbers that are not negative, or nothing if there are none.
func appendPacked[N int32 | int64](b []byte, field protowire.Number, list []N) []byte {
	if len(list) == 0 {
		return b
	}
	var packed []byte
	for _, n := range list {
		packed = protowire.AppendVarint(packed, uint64(n))
	}
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendBytes(b, packed)
}

// decodeMemberData reads what encode wrote. What cannot be understood is left out: these are hints, and a member with
// none of them still takes part.
func decodeMemberData(b []byte) memberData {
	var d memberData
	var open []int32
	var at []int64
	fields(b, func(field protowire.Number, v []byte, n uint64) {
		switch field {
		case 1:
			if len(v) <= maxAdvertise && utf8.Valid(v) {
				d.Advertise = string(v)
			}
		case 2:
			d.Held = unpack[int32](v)
		case 3:
			open = unpack[int32](v)
		case 4:
			at = unpack[int64](v)
		case 5:
			d.Standbys = int(min(n, maxStandbys))
		case 6:
			if len(v) <= maxRelayKey && utf8.Valid(v) {
				d.RelayKey = string(v)
			}
		}
	})
	for i := range min(len(open), len(at)) {
		if d.At == nil {
			d.At = map[int32]int64{}
		}
		d.At[open[i]] = at[i]
	}
	return d
}

// fields calls f for each field of b that is a number or bytes, until it ends or cannot be understood.
func fields(b []byte, f func(field protowire.Number, v []byte, n uint64)) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return
		}
		b = b[n:]
		var v []byte
		var number uint64
		switch typ {
		case protowire.BytesType:
			v, n = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(b)
		default:
			if n = protowire.ConsumeFieldValue(num, typ, b); n >= 0 {
				num = 0 // no field of ours
			}
		}
		if n < 0 {
			return
		}
		b = b[n:]
		f(num, v, number)
	}
}

func unpack[N int32 | int64](b []byte) []N {
	var list []N
	for len(b) > 0 && len(list) < maxHeld {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 || N(v) < 0 || uint64(N(v)) != v {
			return list
		}
		list = append(list, N(v))
		b = b[n:]
	}
	return list
}

// duties are what a member is told to do beside what it owns, in the user data of its assignment, encoded like memberData:
//
//	1 packed uint32 standby     2 packed uint32 warming
type duties struct {
	Standby []int32 // partitions to tail for the case that the owner fails, ascending
	Warming []int32 // partitions to tail so as to own them once they are near
}

func (d *duties) encode() []byte { return appendPacked(appendPacked(nil, 1, d.Standby), 2, d.Warming) }

func decodeDuties(b []byte) duties {
	var d duties
	fields(b, func(field protowire.Number, v []byte, _ uint64) {
		switch field {
		case 1:
			d.Standby = unpack[int32](v)
		case 2:
			d.Warming = unpack[int32](v)
		}
	})
	return d
}
