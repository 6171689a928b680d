package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestFields: fields are decoded in the order in which they were appended, whatever they are, and
// nothing is left.
func TestFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var record []byte
		var takes []func(r *Reader) (got, want any)
		for range rapid.IntRange(0, 8).Draw(t, "fields") {
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				v := rapid.Uint64().Draw(t, "uvarint")
				record = binary.AppendUvarint(record, v)
				takes = append(takes, func(r *Reader) (any, any) { return r.Uvarint(), v })
			case 1:
				v := rapid.Uint32().Draw(t, "u32")
				record = binary.AppendUvarint(record, uint64(v))
				takes = append(takes, func(r *Reader) (any, any) { return r.U32(), v })
			case 2:
				v := rapid.Int64().Draw(t, "varint")
				record = binary.AppendVarint(record, v)
				takes = append(takes, func(r *Reader) (any, any) { return r.Varint(), v })
			case 3:
				v := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes")
				record = AppendBytes(record, v)
				takes = append(takes, func(r *Reader) (any, any) { return string(r.Bytes()), string(v) })
			case 4:
				v := rapid.Bool().Draw(t, "bool")
				record = AppendBool(record, v)
				takes = append(takes, func(r *Reader) (any, any) { return r.Byte() == 1, v })
			case 5:
				v := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "fixed")
				record = append(record, v...)
				takes = append(takes, func(r *Reader) (any, any) { return string(r.Fixed(16)), string(v) })
			}
		}
		r := Reader{B: record}
		for i, take := range takes {
			if got, want := take(&r); got != want {
				t.Fatalf("field %d is %v, want %v", i, got, want)
			}
		}
		if err := r.Done(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestSkipNumbers: what is behind any number of numbers is found, and a record without that many is
// cut short.
func TestSkipNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var record []byte
		n := rapid.IntRange(0, 20).Draw(t, "numbers")
		for range n {
			if rapid.Bool().Draw(t, "signed") {
				record = binary.AppendVarint(record, rapid.Int64().Draw(t, "number"))
			} else {
				record = binary.AppendUvarint(record, rapid.Uint64().Draw(t, "number"))
			}
		}
		rest := rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "rest")
		r := Reader{B: append(bytes.Clone(record), rest...)}
		if r.SkipNumbers(n); r.Err != nil || !bytes.Equal(r.B, rest) {
			t.Fatalf("%d numbers of % x: % x is left, want % x, %v", n, record, r.B, rest, r.Err)
		}
		if n > 0 {
			r = Reader{B: record[:rapid.IntRange(0, len(record)-1).Draw(t, "cut")]}
			if r.SkipNumbers(n); r.Err == nil || r.B != nil {
				t.Fatalf("%d numbers of % x: no error, and % x is left", n, record, r.B)
			}
		}
	})
}

// TestCutShort: a field that lacks a byte is an error, and the fields after it are zero.
func TestCutShort(t *testing.T) {
	long := binary.AppendUvarint(nil, math.MaxUint64)
	for _, c := range []struct {
		name   string
		record []byte
		take   func(r *Reader) any
		zero   any
		what   string
	}{
		{"byte", nil, func(r *Reader) any { return r.Byte() }, byte(0), "a byte"},
		{"uvarint", nil, func(r *Reader) any { return r.Uvarint() }, uint64(0), "an unsigned number"},
		{"uvarint without its end", long[:len(long)-1], func(r *Reader) any { return r.Uvarint() }, uint64(0), "an unsigned number"},
		{"uvarint of 65 bits", append(bytes.Repeat([]byte{0xff}, 9), 2), func(r *Reader) any { return r.Uvarint() }, uint64(0), "an unsigned number"},
		{"u32 of 33 bits", binary.AppendUvarint(nil, 1<<32), func(r *Reader) any { return r.U32() }, uint32(0), "32 bits"},
		{"varint", nil, func(r *Reader) any { return r.Varint() }, int64(0), "a number"},
		{"string", AppendBytes(nil, []byte("abc"))[:3], func(r *Reader) any { return len(r.Bytes()) }, 0, "a string"},
		{"string of a huge length", long, func(r *Reader) any { return len(r.Bytes()) }, 0, "a string"},
		{"fixed", make([]byte, 15), func(r *Reader) any { return len(r.Fixed(16)) }, 0, "16 bytes"},
	} {
		r := Reader{B: append(bytes.Clone(c.record), 0x80)[:len(c.record)]}
		if got := c.take(&r); got != c.zero {
			t.Errorf("%s: %v, want zero", c.name, got)
		}
		err := r.Done()
		if err == nil || !strings.Contains(err.Error(), c.what) {
			t.Errorf("%s: the error is %v, and does not name %q", c.name, err, c.what)
		}
		if b, u, v, s, f := r.Byte(), r.Uvarint(), r.Varint(), r.Bytes(), r.Fixed(1); b != 0 || u != 0 || v != 0 || len(s) != 0 || len(f) != 0 {
			t.Errorf("%s: fields behind it are not zero", c.name)
		}
		if r.Done().Error() != err.Error() {
			t.Errorf("%s: a later field replaced the first error by %v", c.name, r.Done())
		}
	}
}

// TestTooMuch: bytes after the last field of a record are an error.
func TestTooMuch(t *testing.T) {
	r := Reader{B: []byte{1, 2, 3}}
	r.Byte()
	if err := r.Done(); err == nil || !strings.Contains(err.Error(), "2 bytes too many") {
		t.Errorf("the error is %v", err)
	}
}

// TestBytesAreBorrowed: a decoded string is part of the record, and appending to it does not
// overwrite what follows.
func TestBytesAreBorrowed(t *testing.T) {
	record := AppendBytes(AppendBytes(nil, []byte("ab")), []byte("cd"))
	r := Reader{B: record}
	first := r.Bytes()
	if &first[0] != &record[1] {
		t.Error("the string was copied")
	}
	_ = append(first, 'x', 'y')
	if got := r.Bytes(); string(got) != "cd" {
		t.Errorf("the string behind it is %q now", got)
	}
}
