package wire

import (
	"encoding/binary"
	"fmt"
)

// AppendBytes appends the length of b and b.
func AppendBytes(dst, b []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

// AppendBool appends a byte that is 1 or 0.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// Reader decodes fields of a record. The first field that does not fit sets Err, and all further
// fields are zero.
type Reader struct {
	B   []byte
	Err error
}

func (r *Reader) fail(what string) {
	if r.Err == nil {
		r.Err = fmt.Errorf("record cut short: %s expected", what)
	}
	r.B = nil
}

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if len(r.B) == 0 {
		r.fail("a byte")
		return 0
	}
	v := r.B[0]
	r.B = r.B[1:]
	return v
}

// Uvarint reads an unsigned number.
func (r *Reader) Uvarint() uint64 {
	if len(r.B) > 0 && r.B[0] < 0x80 { // most numbers are short
		v := r.B[0]
		r.B = r.B[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.B)
	if n <= 0 {
		r.fail("an unsigned number")
		return 0
	}
	r.B = r.B[n:]
	return v
}

// SkipNumbers skips n numbers, signed or not. It does not notice one that is too large.
func (r *Reader) SkipNumbers(n int) {
	b := r.B
	for ; n > 0 && len(b) > 0; b = b[1:] {
		if b[0] < 0x80 { // the last byte of a number
			n--
		}
	}
	if r.B = b; n > 0 {
		r.fail("a number")
	}
}

// U32 reads an unsigned number of 32 bits.
func (r *Reader) U32() uint32 {
	v := r.Uvarint()
	if v > 1<<32-1 {
		r.fail("a number of 32 bits")
		return 0
	}
	return uint32(v)
}

// Varint reads a signed number.
func (r *Reader) Varint() int64 {
	v, n := binary.Varint(r.B)
	if n <= 0 {
		r.fail("a number")
		return 0
	}
	r.B = r.B[n:]
	return v
}

// Bytes reads a length and that many bytes, which it borrows from the record.
func (r *Reader) Bytes() []byte {
	n := r.Uvarint()
	if n > uint64(len(r.B)) {
		r.fail("a string")
		return nil
	}
	v := r.B[:n:n]
	r.B = r.B[n:]
	return v
}

// Fixed reads n bytes.
func (r *Reader) Fixed(n int) []byte {
	if len(r.B) < n {
		r.fail(fmt.Sprintf("%d bytes", n))
		return nil
	}
	v := r.B[:n]
	r.B = r.B[n:]
	return v
}

// Done returns the first error. Bytes that are left over are an error too.
func (r *Reader) Done() error {
	if r.Err == nil && len(r.B) > 0 {
		r.Err = fmt.Errorf("record has %d bytes too many", len(r.B))
	}
	return r.Err
}
