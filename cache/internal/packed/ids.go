package packed

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Heads of ids that are stored as 16 bytes: a UUID and a ULID in their usual form. Any other head
// is twice the length of the id, whose bytes follow.
const (
	uuidID = 1
	ulidID = 3
)

// appendID appends an id, which may be empty.
func appendID(b, id []byte) []byte {
	switch len(id) {
	case 36:
		if raw, ok := uuidOf(id); ok {
			return append(append(b, uuidID), raw[:]...)
		}
	case 26:
		if raw, ok := ulidOf(id); ok {
			return append(append(b, ulidID), raw[:]...)
		}
	}
	b = binary.AppendUvarint(b, 2*uint64(len(id)))
	return append(b, id...)
}

func (in *input) id() []byte {
	head := in.uvarint()
	switch {
	case head == uuidID || head == ulidID:
		raw := in.bytes(16)
		if raw == nil {
			return nil
		}
		if head == ulidID {
			return idOfULID(raw)
		}
		return idOfUUID(raw)
	case head%2 != 0:
		in.fail(fmt.Errorf("%d cannot begin an id", head))
		return nil
	}
	return in.bytes(head / 2)
}

// uuidOf returns the 16 bytes of a UUID. ok is false unless idOfUUID returns id for them.
func uuidOf(id []byte) (raw [16]byte, ok bool) {
	if id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return raw, false
	}
	n := 0
	for i := 0; i < len(id); i += 2 {
		if id[i] == '-' {
			i++
		}
		hi, lo := hexDigit(id[i]), hexDigit(id[i+1])
		if hi|lo > 15 {
			return raw, false
		}
		raw[n] = hi<<4 | lo
		n++
	}
	return raw, true
}

// hexDigit returns the value of a lower-case hexadecimal digit, 255 for anything else.
func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

func idOfUUID(raw []byte) []byte {
	id := make([]byte, 0, 36)
	for i, part := range [...][2]int{{0, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 16}} {
		if i > 0 {
			id = append(id, '-')
		}
		id = hex.AppendEncode(id, raw[part[0]:part[1]])
	}
	return id
}

// crockford are the digits of a ULID.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// digits has the values of the digits of a ULID, 255 for anything else.
var digits = func() (of [256]byte) {
	for c := range of {
		of[c] = 255
	}
	for digit, c := range []byte(crockford) {
		of[c] = byte(digit)
	}
	return of
}()

// ulidOf returns the 16 bytes of a ULID. ok is false unless idOfULID returns id for them.
func ulidOf(id []byte) (raw [16]byte, ok bool) {
	acc, bits, n := uint32(0), 0, 0
	for i, c := range id {
		digit := digits[c]
		if digit > 31 || i == 0 && digit > 7 { // 26 digits have 130 bits, the first two of which are 0
			return raw, false
		}
		acc = acc<<5 | uint32(digit)
		if i == 0 {
			bits = 3
			continue
		}
		if bits += 5; bits >= 8 {
			bits -= 8
			raw[n] = byte(acc >> bits)
			n++
		}
	}
	return raw, true
}

func idOfULID(raw []byte) []byte {
	id := make([]byte, 0, 26)
	acc, bits := uint32(0), 2 // the two leading zeros
	for _, c := range raw {
		acc, bits = acc<<8|uint32(c), bits+8
		for bits >= 5 {
			bits -= 5
			id = append(id, crockford[acc>>bits&31])
		}
	}
	return id
}
