package events

import (
	"strconv"

	"google.golang.org/protobuf/proto"
)

// MaxSeeded is the largest count of messages_seeded.
const MaxSeeded = 1 << 31

// MaxValueBytes is the length of the longest value that is decoded. It limits the work for one
// record and leaves ample space for real events: a list of 100,000 ids of 26 bytes has 2.8 MB.
const MaxValueBytes = 4 << 20

// Decoder decodes and validates records of the input topics. The zero value is ready; it is not
// safe for concurrent use.
//
// A value that begins with '{' is JSON, any other Protobuf; either may be in the frame of a schema
// registry (frame.go). If a field is repeated that should not be, the last one wins and messages
// are merged, as in every Protobuf implementation. Unknown fields are ignored.
//
// Decoding Protobuf allocates nothing, except for errors and for lists of ids that are longer than
// any earlier one in the same event struct. The result borrows from the value (from a private copy
// of it if it was JSON).
//
// All errors are *Error. They are found in this order: no value, too large, undecodable, newer
// version, no kind, then the fields, those common to all kinds first. Only a value that can be read
// to its end can report a newer version. It reports one even if it does not fit this schema.
//
// recordMillis is the record's timestamp in Unix milliseconds. A negative one ("no timestamp")
// counts as 0, and one beyond year 9999 as the end of that year.
type Decoder struct {
	at     wireTime // occurred_at
	target wireTime // time, up_to_time
	clock  clock

	minVersion uint32
}

// start resets the decoder for a value and returns a cursor over its Protobuf form. shape returns
// an empty event of the value's type; only JSON needs it.
func (d *Decoder) start(value []byte, recordMillis int64, shape func() proto.Message) (cursor, error) {
	*d = Decoder{clock: clock{record: min(max(recordMillis, 0), maxSeconds*1000)}}
	switch {
	case len(value) == 0:
		return cursor{}, &Error{Reason: ReasonEmptyValue, Detail: "a record of an input topic must have a value"}
	case len(value) > MaxValueBytes:
		return cursor{}, &Error{Reason: ReasonTooLarge, Detail: strconv.Itoa(len(value)) + " bytes, at most " +
			strconv.Itoa(MaxValueBytes) + " are allowed"}
	case value[0] == '{':
		encoded, err := fromJSON(value, shape())
		return cursor{b: encoded}, err
	case value[0] == frameMagic:
		return framed(value, shape)
	}
	return cursor{b: value}, nil
}

// finish checks the fields that all events have in common, after the whole value was read. beyond
// names the parts of the event that are in unfolded.
func (d *Decoder) finish(c *cursor, value []byte, kind Kind, beyond string) error {
	if c.fault != faultNone {
		plain := value
		if value[0] == frameMagic {
			plain = unframe(value)
		}
		if v := protoMinVersion(plain); v > Version {
			return newerVersion(v)
		}
		return inFrame(c.err(), value)
	}
	if d.minVersion > Version {
		return newerVersion(d.minVersion)
	}
	if beyond != "" && d.minVersion == Version {
		return lacking(beyond)
	}
	if kind == KindNone || unfolded.kinds[kind] {
		return &Error{Reason: ReasonNoKind, Detail: "no kind that version " + strconv.Itoa(Version) + " knows is set"}
	}
	return nil
}

// protoMinVersion returns the min_version of a value that does not fit this schema but is Protobuf
// at its top level; otherwise 0, also if it states none.
func protoMinVersion(value []byte) uint32 {
	var v uint32
	c := cursor{b: value}
	for c.next() {
		if c.tag == 9<<3|wireVarint {
			v = c.uint32()
		} else {
			c.skip()
		}
	}
	if c.fault != faultNone {
		return 0
	}
	return v
}

// longList is the capacity above which a list of ids is not kept for the next event, so that one
// huge event does not hold its memory forever.
const longList = 4096

// reuse empties a list of ids.
func reuse(ids [][]byte) [][]byte {
	if cap(ids) > longList {
		return nil
	}
	return ids[:0]
}

// readKind sets the kind. A different kind discards the fields of the previous one; the same kind
// again is merged with them.
func (d *Decoder) readKind(r *Read, k Kind) {
	if r.Kind != k && r.Kind != KindNone {
		*r = Read{ChannelID: r.ChannelID, UserID: r.UserID, InstanceID: r.InstanceID, IDs: r.IDs[:0]}
		d.target = wireTime{}
	}
	r.Kind = k
}
