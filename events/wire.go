package events

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// fault is the reason why a cursor stopped early.
type fault uint8

const (
	faultNone      fault = iota
	faultMalformed       // not Protobuf
	faultUTF8            // a text field that is not UTF-8
)

// Wire types, for tags in the form of number<<3 | type.
const (
	wireVarint = uint64(protowire.VarintType)
	wireBytes  = uint64(protowire.BytesType)
)

// cursor iterates over the fields of an encoded Protobuf message without copying. It accepts and
// refuses exactly the same bytes as the generated code: a known number with another wire type is an
// unknown field, groups are skipped, numbers out of range and stray ends of groups are malformed.
// After the first error next returns false, and fault is its kind.
//
// Callers switch on tag and take the value with one of the methods below; the default is skip.
type cursor struct {
	b     []byte
	tag   uint64 // number<<3 | wire type
	fault fault
}

// next moves to the next field.
func (c *cursor) next() bool {
	if len(c.b) == 0 {
		return false
	}
	if t := c.b[0]; t < 0x80 {
		c.tag = uint64(t)
		c.b = c.b[1:]
	} else {
		c.tag = c.varint()
	}
	num := c.tag >> 3
	if num < uint64(protowire.MinValidNumber) || num > uint64(protowire.MaxValidNumber) ||
		c.tag&7 == uint64(protowire.EndGroupType) {
		c.fail(faultMalformed)
	}
	return c.fault == faultNone
}

func (c *cursor) fail(f fault) {
	if c.fault == faultNone {
		c.fault = f
	}
	c.b = nil
}

// varint takes a varint.
func (c *cursor) varint() uint64 {
	if len(c.b) > 0 && c.b[0] < 0x80 {
		v := uint64(c.b[0])
		c.b = c.b[1:]
		return v
	}
	v, n := protowire.ConsumeVarint(c.b)
	if n < 0 {
		c.fail(faultMalformed)
		return 0
	}
	c.b = c.b[n:]
	return v
}

// uint32 takes a varint, of which Protobuf keeps the lower 32 bits.
func (c *cursor) uint32() uint32 { return uint32(c.varint()) }

// bool takes a varint.
func (c *cursor) bool() bool { return c.varint() != 0 }

// level reads a level. It returns NumLevels for a level that this build does not have.
func (c *cursor) level() Level { return Level(min(c.uint32(), uint32(NumLevels))) }

// choice takes a bool that is present in the message.
func (c *cursor) choice() Choice {
	if c.bool() {
		return Yes
	}
	return No
}

// bytes takes a length-delimited value. Its capacity ends with it.
func (c *cursor) bytes() []byte {
	n := c.varint()
	if n > uint64(len(c.b)) {
		c.fail(faultMalformed)
		return nil
	}
	v := c.b[:n:n]
	c.b = c.b[n:]
	return v
}

// text takes a length-delimited value that must be UTF-8.
func (c *cursor) text() []byte {
	v := c.bytes()
	if !utf8.Valid(v) {
		c.fail(faultUTF8)
		return nil
	}
	return v
}

// message takes a length-delimited value and returns a cursor over it. Pass that cursor to done at
// its end.
func (c *cursor) message() cursor { return cursor{b: c.bytes()} }

// done takes over the fault of a cursor over a nested message.
func (c *cursor) done(sub *cursor) {
	if sub.fault != faultNone {
		c.fail(sub.fault)
	}
}

// packed takes a packed list of uint32 and appends it.
func (c *cursor) packed(to []uint32) []uint32 {
	list := c.message()
	for len(list.b) > 0 {
		if v := list.uint32(); list.fault == faultNone {
			to = append(to, v)
		}
	}
	c.done(&list)
	return to
}

// single takes one member of a list of uint32 that is not packed and appends it.
func (c *cursor) single(to []uint32) []uint32 {
	if v := c.uint32(); c.fault == faultNone {
		to = append(to, v)
	}
	return to
}

// skip passes over the value of an unknown field.
func (c *cursor) skip() {
	n := protowire.ConsumeFieldValue(protowire.Number(c.tag>>3), protowire.Type(c.tag&7), c.b)
	if n < 0 {
		c.fail(faultMalformed)
		return
	}
	c.b = c.b[n:]
}

// err returns an error if the value could not be read to its end, or nil.
func (c *cursor) err() error {
	switch c.fault {
	case faultNone:
		return nil
	case faultUTF8:
		return &Error{Reason: ReasonUndecodable, Detail: "a text field is not valid UTF-8"}
	default:
		return &Error{Reason: ReasonUndecodable, Detail: "not the Protobuf encoding of a message of this topic"}
	}
}
