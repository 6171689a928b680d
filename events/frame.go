package events

import (
	"encoding/binary"
	"errors"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Serializers of Confluent's Schema Registry put a frame before a value: a zero byte and four bytes
// with the id of the schema. A Protobuf value also has a path of indexes that selects a message in
// the schema's file: the number of indexes, then the indexes, as zigzag varints. A single zero
// stands for the first message. The decoder ignores the id, because the topic already determines
// the type of the event. So it needs no registry.
//
// A frame is unambiguous: no Protobuf event begins with a zero byte, which would be a field of
// number 0, and no path of indexes begins with '{', which would be a negative number.
const (
	frameMagic = 0
	frameBytes = 1 + 4
	// maxFrameIndexes is how deeply messages may be nested in the schema's file.
	maxFrameIndexes = 32
)

// unframe returns the value in a frame; nil if there is none.
func unframe(value []byte) []byte {
	if len(value) <= frameBytes {
		return nil
	}
	b := value[frameBytes:]
	if b[0] == '{' {
		return b
	}
	count, n := frameIndex(b)
	if n < 0 || count > maxFrameIndexes {
		return nil
	}
	for b = b[n:]; count > 0; count-- {
		if _, n = frameIndex(b); n < 0 {
			return nil
		}
		b = b[n:]
	}
	if len(b) > 0 && (b[0] == '{' || b[0] == frameMagic) {
		return nil
	}
	return b
}

// frameIndex reads a non-negative number and its length, which is below 0 if there is none.
func frameIndex(b []byte) (v int64, n int) {
	u, n := protowire.ConsumeVarint(b)
	if v = protowire.DecodeZigZag(u); v < 0 {
		return 0, -1
	}
	return v, n
}

// framed returns a cursor over the Protobuf form of the value in a frame.
func framed(value []byte, shape func() proto.Message) (cursor, error) {
	in := unframe(value)
	if in == nil {
		return cursor{}, &Error{Reason: ReasonUndecodable, Detail: "a zero byte begins neither an event nor the frame of a schema registry around one"}
	}
	if len(in) == 0 || in[0] != '{' {
		return cursor{b: in}, nil
	}
	encoded, err := fromJSON(in, shape())
	return cursor{b: encoded}, inFrame(err, value)
}

// inFrame adds to an error that the value is in a frame.
func inFrame(err error, value []byte) error {
	var e *Error
	if len(value) > frameBytes && value[0] == frameMagic && errors.As(err, &e) && e.Reason == ReasonUndecodable {
		e.Detail += ", in the frame of schema " + strconv.FormatUint(uint64(binary.BigEndian.Uint32(value[1:])), 10)
	}
	return err
}
