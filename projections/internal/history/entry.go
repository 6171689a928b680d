package history

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/tidemark/tidemark/projections/internal/wire"
)

// Entry is one message of a channel's log. Its byte slices borrow from the decoded bytes.
type Entry struct {
	Seq     uint32
	Flags   uint8
	Time    int64  // time of the message, DESIGN §2
	LogTime int64  // log time of the partition, right after the message's record
	Offset  int64  // offset of the message's record
	PrevOwn uint32 // the sender's previous counted message
	PrevIn  uint32 // the sender's previous reply in the same thread
	ID      []byte
	Sender  []byte
	Preview []byte
	Thread  []byte
	Users   []byte // mentions: count and strings

	// ReadBefore is, for a message with Contrary, the sender's previous message in the channel that
	// reads; ReadBeforeIn is the previous one in the same thread.
	ReadBefore, ReadBeforeIn uint32

	// Trimmed reports that the entry is of a trimmed block: ID, Sender, Preview and Users are gone,
	// and so is Offset. Time and LogTime are those of the block's last message. A reply that is not
	// silent has First, the first reply of its thread, instead of Thread.
	Trimmed bool
	First   uint32
}

// Bits of Entry.Flags.
const (
	Silent = 1 << iota
	Reply
	Broadcast
	MentionsAll
	Deleted
	MentionsUsers
	Grew     // its id was beyond all ids before it
	Contrary // its producer overrode the setting of whether posting reads
)

// Counted reports whether the message counts for unread: not silent and not a reply that stays in
// its thread.
func (e *Entry) Counted() bool {
	return e.Flags&Silent == 0 && e.Flags&(Reply|Broadcast) != Reply
}

// Reads reports whether posting the message reads up to it. setting is the value that applies
// unless the producer overrode it.
func (e *Entry) Reads(setting bool) bool { return setting != (e.Flags&Contrary != 0) }

// InThread reports whether the entry is a reply in the thread with this id and first reply.
func (e *Entry) InThread(id []byte, first uint32) bool {
	switch {
	case e.Flags&Reply == 0:
		return false
	case e.Trimmed && e.Flags&Silent == 0:
		return e.First == first
	}
	return bytes.Equal(e.Thread, id)
}

// Append encodes the entry without its seq, in the format of docs/formats.md.
func (e *Entry) Append(dst []byte) []byte {
	dst = append(dst, e.Flags)
	dst = binary.AppendVarint(dst, e.Time)
	dst = binary.AppendUvarint(dst, uint64(e.LogTime-e.Time))
	dst = binary.AppendUvarint(dst, uint64(e.Offset))
	dst = e.appendBack(dst, e.PrevOwn)
	dst = wire.AppendBytes(dst, e.ID)
	dst = wire.AppendBytes(dst, e.Sender)
	dst = wire.AppendBytes(dst, e.Preview)
	if e.Flags&Reply != 0 {
		dst = wire.AppendBytes(dst, e.Thread)
		dst = e.appendBack(dst, e.PrevIn)
	}
	if e.Flags&MentionsUsers != 0 {
		dst = wire.AppendBytes(dst, e.Users)
	}
	return e.appendContrary(dst)
}

// appendContrary encodes the fields that only a message with Contrary has.
func (e *Entry) appendContrary(dst []byte) []byte {
	if e.Flags&Contrary != 0 {
		dst = e.appendBack(dst, e.ReadBefore)
		if e.Flags&Reply != 0 {
			dst = e.appendBack(dst, e.ReadBeforeIn)
		}
	}
	return dst
}

// readContrary decodes the result of appendContrary.
func (e *Entry) readContrary(r *wire.Reader) {
	if e.Flags&Contrary != 0 {
		e.ReadBefore = e.readBack(r)
		if e.Flags&Reply != 0 {
			e.ReadBeforeIn = e.readBack(r)
		}
	}
}

// appendBack encodes an earlier message by its distance from the entry; 0 means none.
func (e *Entry) appendBack(dst []byte, seq uint32) []byte {
	if seq == 0 {
		return append(dst, 0)
	}
	return binary.AppendUvarint(dst, uint64(e.Seq-seq))
}

// readBack decodes the result of appendBack.
func (e *Entry) readBack(r *wire.Reader) uint32 {
	if back := uint32(r.Uvarint()); back != 0 {
		return e.Seq - back
	}
	return 0
}

// Decode decodes the result of Append.
func (e *Entry) Decode(seq uint32, b []byte) error {
	r := wire.Reader{B: b}
	*e = Entry{Seq: seq, Flags: r.Byte()}
	e.Time = r.Varint()
	e.LogTime = e.Time + int64(r.Uvarint())
	e.Offset = int64(r.Uvarint())
	e.PrevOwn = e.readBack(&r)
	e.ID, e.Sender, e.Preview = r.Bytes(), r.Bytes(), r.Bytes()
	if e.Flags&Reply != 0 {
		e.Thread = r.Bytes()
		e.PrevIn = e.readBack(&r)
	}
	if e.Flags&MentionsUsers != 0 {
		e.Users = r.Bytes()
	}
	e.readContrary(&r)
	return r.Done()
}

// AppendUsers encodes a list of ids in the given order, without repetitions.
func AppendUsers(dst []byte, ids [][]byte) []byte {
	EachDistinct(ids, func(id []byte) { dst = wire.AppendBytes(dst, id) })
	return dst
}

// EachDistinct calls fn once for every distinct id, in the given order.
func EachDistinct(ids [][]byte, fn func(id []byte)) {
	const few = 16
	var seen map[string]struct{}
	for i, id := range ids {
		if i < few {
			if !slices.ContainsFunc(ids[:i], func(o []byte) bool { return bytes.Equal(o, id) }) {
				fn(id)
			}
			continue
		}
		if seen == nil {
			seen = make(map[string]struct{}, len(ids))
			for _, o := range ids[:i] {
				seen[string(o)] = struct{}{}
			}
		}
		if _, repeated := seen[string(id)]; !repeated {
			seen[string(id)] = struct{}{}
			fn(id)
		}
	}
}

// EachUser calls fn for every id of an encoded list.
func EachUser(users []byte, fn func(id []byte)) {
	r := wire.Reader{B: users}
	for len(r.B) > 0 && r.Err == nil {
		fn(r.Bytes())
	}
}
