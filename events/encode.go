package events

import (
	"math/bits"

	"google.golang.org/protobuf/encoding/protowire"
)

// The append functions below write one field each, with proto3's rule that a zero is left out.
// Messages are written in the order of their field numbers, so equal values have equal bytes.

func appendVarint(b []byte, v uint64) []byte {
	if v < 0x80 {
		return append(b, byte(v))
	}
	return protowire.AppendVarint(b, v)
}

func appendUint(b []byte, num, v uint64) []byte {
	if v == 0 {
		return b
	}
	return appendVarint(appendVarint(b, num<<3|wireVarint), v)
}

func appendBool(b []byte, num uint64, v bool) []byte {
	if !v {
		return b
	}
	return append(appendVarint(b, num<<3|wireVarint), 1)
}

func appendText(b []byte, num uint64, v []byte) []byte {
	if len(v) == 0 {
		return b
	}
	b = appendVarint(b, num<<3|wireBytes)
	b = appendVarint(b, uint64(len(v)))
	return append(b, v...)
}

// appendTexts writes a repeated field. An empty text in it is written too.
func appendTexts(b []byte, num uint64, list [][]byte) []byte {
	for _, v := range list {
		b = append(appendLen(b, num, len(v)), v...)
	}
	return b
}

// appendLen begins a message of n bytes, which must follow.
func appendLen(b []byte, num uint64, n int) []byte {
	return appendVarint(appendVarint(b, num<<3|wireBytes), uint64(n))
}

func appendPacked(b []byte, num uint64, list []uint32) []byte {
	if len(list) == 0 {
		return b
	}
	n := 0
	for _, v := range list {
		n += sizeVarint(uint64(v))
	}
	b = appendLen(b, num, n)
	for _, v := range list {
		b = appendVarint(b, uint64(v))
	}
	return b
}

// appendTime writes a Timestamp, even a zero one, because a message that is set differs from a
// missing one. millis must not be negative.
func appendTime(b []byte, num uint64, millis int64) []byte {
	seconds, nanos := splitMillis(millis)
	b = appendLen(b, num, sizeUint(seconds)+sizeUint(nanos))
	b = appendUint(b, 1, seconds)
	return appendUint(b, 2, nanos)
}

func splitMillis(millis int64) (seconds, nanos uint64) {
	ms := uint64(max(millis, 0))
	return ms / 1000, ms % 1000 * 1_000_000
}

// Sizes of fields with numbers below 16, whose tag is one byte.

func sizeVarint(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

func sizeUint(v uint64) int {
	if v == 0 {
		return 0
	}
	return 1 + sizeVarint(v)
}

func sizeText(v []byte) int {
	if len(v) == 0 {
		return 0
	}
	return 1 + sizeVarint(uint64(len(v))) + len(v)
}

func sizeBool(v bool) int {
	if !v {
		return 0
	}
	return 2
}

// sizeTime is that of a Timestamp, whose own length is a single byte.
func sizeTime(millis int64) int {
	seconds, nanos := splitMillis(millis)
	return 2 + sizeUint(seconds) + sizeUint(nanos)
}
