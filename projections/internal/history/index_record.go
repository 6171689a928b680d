package history

import (
	"encoding/binary"

	"github.com/tidemark/tidemark/projections/internal/wire"
)

// Indexed is an entry of the message index.
type Indexed struct {
	Seq     uint32
	Flags   uint8
	Time    int64
	LogTime int64
}

const indexedFlags = Silent | Reply | Broadcast

// IndexedOf returns the index entry of a message.
func IndexedOf(e *Entry) Indexed {
	return Indexed{Seq: e.Seq, Flags: e.Flags & indexedFlags, Time: e.Time, LogTime: e.LogTime}
}

// IndexedFrom returns the index entry of message seq and its id, from the message's encoded log
// entry. It reads only up to the id.
func IndexedFrom(seq uint32, b []byte) (x Indexed, id []byte, ok bool) {
	r := wire.Reader{B: b}
	x = Indexed{Seq: seq, Flags: r.Byte() & indexedFlags}
	x.Time = r.Varint()
	x.LogTime = x.Time + int64(r.Uvarint())
	r.SkipNumbers(2) // offset, the sender's previous message
	id = r.Bytes()
	return x, id, r.Err == nil
}

// IDFrom returns the id of a message from its encoded log entry.
func IDFrom(b []byte) (id []byte, ok bool) {
	r := wire.Reader{B: b}
	r.Byte()         // flags
	r.SkipNumbers(4) // time, log time, offset, the sender's previous message
	id = r.Bytes()
	return id, r.Err == nil
}

// AppendIndexed encodes one index entry. The record of an id has one or more of them, ordered by
// seq.
func AppendIndexed(dst []byte, x Indexed) []byte {
	dst = binary.AppendUvarint(dst, uint64(x.Seq))
	dst = append(dst, x.Flags)
	dst = binary.AppendVarint(dst, x.Time)
	return binary.AppendUvarint(dst, uint64(x.LogTime-x.Time))
}

// BlockOf returns the block of message n of the log. Block b holds messages b*BlockLen+1 to
// (b+1)*BlockLen.
func BlockOf(n uint32) uint32 { return (n - 1) / BlockLen }

// BlockEntry decodes one message of a block: message n of the log, with seq seq.
func BlockEntry(b []byte, n, seq uint32, e *Entry) error {
	if IsTrimmed(b) {
		i := (n - 1) % BlockLen
		var list [BlockLen]Entry
		err := DecodeTrimmed(b, seq-i, int(i)+1, &list)
		*e = list[i]
		return err
	}
	r := wire.Reader{B: b}
	r.Uvarint()
	for range (n - 1) % BlockLen {
		r.Bytes()
	}
	v := r.Bytes()
	if r.Err != nil {
		return r.Err
	}
	return e.Decode(seq, v)
}

// BlockLen is the number of a channel's newest messages that memory holds; their id, sender and
// preview are kept at any age (DESIGN §4.6). It is also the number of messages in a log block.
const BlockLen = 16

// ReadIndexed decodes one result of AppendIndexed.
func ReadIndexed(r *wire.Reader) Indexed {
	x := Indexed{Seq: r.U32(), Flags: r.Byte()}
	x.Time = r.Varint()
	x.LogTime = x.Time + int64(r.Uvarint())
	return x
}

// Without returns an index record without the entry of message seq.
func Without(record []byte, seq uint32) (rest []byte, err error) {
	r := wire.Reader{B: record}
	for len(r.B) > 0 && r.Err == nil {
		if x := ReadIndexed(&r); x.Seq != seq && r.Err == nil {
			rest = AppendIndexed(rest, x)
		}
	}
	return rest, r.Err
}
