package history

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/tidemark/tidemark/projections/internal/wire"
)

// A trimmed block has the messages of a log block without their ids, senders, previews, mentions
// and offsets, because no event can name them any more. It keeps what counts need, and of the times
// only those of its last message, which stand for all. Numbers that all messages have are packed:
// each list takes as many bits a message as its largest number needs.

// A block never begins with these bytes: the second one would be the length of its first message.
var trimmed = [...]byte{0, 0}

// IsTrimmed reports whether a block of the log is trimmed.
func IsTrimmed(b []byte) bool { return len(b) > 1 && b[0] == trimmed[0] && b[1] == trimmed[1] }

// trimmedFlags are the flags that a trimmed message keeps.
const trimmedFlags = ^uint8(Grew)

// AppendTrimmed encodes a block of messages as a trimmed one. The First of each reply that is not
// silent must be set.
func AppendTrimmed(dst []byte, list *[BlockLen]Entry) []byte {
	dst = append(dst, trimmed[:]...)
	last := &list[BlockLen-1]
	dst = binary.AppendVarint(dst, last.Time)
	dst = binary.AppendUvarint(dst, uint64(last.LogTime-last.Time))
	var own, flags packed
	for i := range list {
		e := &list[i]
		if e.PrevOwn == 0 {
			own.add(0)
		} else {
			own.add(uint64(e.Seq - e.PrevOwn))
		}
		flags.add(uint64(e.Flags & trimmedFlags))
	}
	dst = append(dst, own.width, flags.width)
	var w bitWriter
	for _, list := range [...]*packed{&own, &flags} {
		for _, v := range list.values[:list.n] {
			w.add(v, list.width)
		}
	}
	dst = append(dst, w.done()...)
	for i := range list {
		dst = list[i].appendRare(dst)
	}
	return dst
}

// appendRare encodes the fields that only few messages have.
func (e *Entry) appendRare(dst []byte) []byte {
	if e.Flags&Reply != 0 {
		if e.Flags&Silent != 0 {
			dst = wire.AppendBytes(dst, e.Thread)
		} else {
			dst = binary.AppendUvarint(dst, uint64(e.Seq-e.First))
		}
		dst = e.appendBack(dst, e.PrevIn)
	}
	return e.appendContrary(dst)
}

func (e *Entry) readRare(r *wire.Reader) {
	if e.Flags&Reply != 0 {
		if e.Flags&Silent != 0 {
			e.Thread = r.Bytes()
		} else {
			e.First = e.Seq - r.U32()
		}
		e.PrevIn = e.readBack(r)
	}
	e.readContrary(r)
}

// DecodeTrimmed decodes a trimmed block whose first message has seq first. It returns the first n
// messages in list.
func DecodeTrimmed(b []byte, first uint32, n int, list *[BlockLen]Entry) error {
	r := wire.Reader{B: b[len(trimmed):]}
	last := Entry{Trimmed: true, Time: r.Varint()}
	last.LogTime = last.Time + int64(r.Uvarint())
	var width [2]uint8
	copy(width[:], r.Fixed(len(width)))
	if max(width[0], width[1]) > 64 {
		return errTrimmed
	}
	in := bitReader{b: r.Fixed((BlockLen*(int(width[0])+int(width[1])) + 7) / 8)}
	if r.Err != nil {
		return r.Err
	}
	for i := range list {
		list[i] = last
		list[i].Seq = first + uint32(i)
		if back := uint32(in.next(width[0])); back != 0 {
			list[i].PrevOwn = list[i].Seq - back
		}
	}
	for i := range list {
		list[i].Flags = uint8(in.next(width[1]))
	}
	for i := range n {
		list[i].readRare(&r)
	}
	if n == BlockLen {
		return r.Done()
	}
	return r.Err
}

var errTrimmed = errors.New("corrupt: a trimmed block has a field of more than 64 bits")

// packed is a list of numbers that take equally many bits.
type packed struct {
	values [BlockLen]uint64
	n      int
	width  uint8
}

func (p *packed) add(v uint64) {
	p.values[p.n] = v
	p.n++
	p.width = max(p.width, uint8(bits.Len64(v)))
}

// bitWriter writes numbers bit by bit, the lowest bit of each first.
type bitWriter struct {
	b    []byte
	used uint8 // bits of the last byte
}

func (w *bitWriter) add(v uint64, width uint8) {
	for width > 0 {
		if w.used == 0 {
			w.b = append(w.b, 0)
		}
		n := min(8-w.used, width)
		w.b[len(w.b)-1] |= byte(v&(1<<n-1)) << w.used
		w.used = (w.used + n) % 8
		v >>= n
		width -= n
	}
}

func (w *bitWriter) done() []byte { return w.b }

// bitReader reads the numbers of a bitWriter.
type bitReader struct {
	b  []byte
	at int // bits read
}

func (r *bitReader) next(width uint8) (v uint64) {
	for got := uint8(0); got < width; {
		used := uint8(r.at % 8)
		n := min(8-used, width-got)
		v |= uint64(r.b[r.at/8]>>used&(1<<n-1)) << got
		r.at += int(n)
		got += n
	}
	return v
}
