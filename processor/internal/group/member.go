package group

import (
	"maps"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// MemberData is the data that a member publishes to the group in the user data of its join. It is
// encoded like a Protobuf message, so that members of different versions understand the fields that
// both know:
//
//	1 string advertise        2 packed uint32 stores    3 packed uint32 open
//	4 packed uint64 at        5 uint32 standbys         6 string relay_key
//	7 string settings
type MemberData struct {
	Advertise string // URL at which this member answers queries; empty if it does not
	// RelayKey makes its bearer a node in the eyes of this member. Only clients that may read the
	// group's metadata have it.
	RelayKey string
	Stores   []int32         // partitions whose stores the member has on disk, ascending
	At       map[int32]int64 // position of each open partition: the sum of its three offsets
	Standbys int             // how many standbys the member wants for each partition
	Settings string          // settings of the fold, as text; all members of a group need the same
}

// maxAdvertise and maxStores limit the data that is accepted from another member.
const (
	maxAdvertise = 2048
	maxRelayKey  = 64
	maxSettings  = 512
	maxStores    = 1 << 16
	maxStandbys  = 16
)

func (d *MemberData) encode() []byte {
	var b []byte
	if d.Advertise != "" {
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		b = protowire.AppendString(b, d.Advertise)
	}
	b = appendPacked(b, 2, d.Stores)
	open := slices.Sorted(maps.Keys(d.At))
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
	if d.Settings != "" {
		b = protowire.AppendTag(b, 7, protowire.BytesType)
		b = protowire.AppendString(b, d.Settings)
	}
	return b
}

// appendPacked appends a field of non-negative numbers, or nothing if there are none.
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

// decodeMemberData decodes the result of encode. It leaves out fields that it cannot decode: all of
// them are hints, and a member without hints still takes part.
func decodeMemberData(b []byte) MemberData {
	var d MemberData
	var open []int32
	var at []int64
	fields(b, func(field protowire.Number, v []byte, n uint64) {
		switch field {
		case 1:
			if len(v) <= maxAdvertise && utf8.Valid(v) {
				d.Advertise = string(v)
			}
		case 2:
			d.Stores = unpack[int32](v)
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
		case 7:
			if len(v) <= maxSettings && utf8.Valid(v) {
				d.Settings = string(v)
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

// fields calls f for each field of b that is a number or bytes, up to the first field that it
// cannot decode.
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
				num = 0 // not a field of ours
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
	for len(b) > 0 && len(list) < maxStores {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 || N(v) < 0 || uint64(N(v)) != v {
			return list
		}
		list = append(list, N(v))
		b = b[n:]
	}
	return list
}

// Duties are the partitions that a member tails in addition to those that it owns. The user data of
// its assignment has them, encoded like MemberData:
//
//	1 packed uint32 standby     2 packed uint32 warming
type Duties struct {
	Standby []int32 // partitions to tail in case the owner fails, ascending
	Warming []int32 // partitions to tail in order to own them once near
}

func (d *Duties) encode() []byte { return appendPacked(appendPacked(nil, 1, d.Standby), 2, d.Warming) }

func decodeDuties(b []byte) Duties {
	var d Duties
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

// PublishedBy decodes the parts of a member's data that operators need.
func PublishedBy(userData []byte) (advertise string, standbys int, settings string) {
	d := decodeMemberData(userData)
	return d.Advertise, d.Standbys, d.Settings
}
