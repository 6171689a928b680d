package projections

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

// entry is one message of a channel's log. Byte slices borrow from where it was decoded from.
type entry struct {
	seq     uint32
	flags   uint8
	time    int64  // of the message, DESIGN §2
	logTime int64  // of the partition, right after the message's record
	off     int64  // of the message's record
	prevOwn uint32 // the sender's previous counted message
	prevIn  uint32 // the sender's previous reply in the same thread
	id      []byte
	sender  []byte
	preview []byte
	thread  []byte
	users   []byte // mentions: count and strings
}

// entry.flags
const (
	entSilent = 1 << iota
	entReply
	entBroadcast
	entAll
	entDeleted
	entMentions
	entGrew // its id was beyond all ids before it
)

// counted reports whether the message counts for unread: not silent and not a reply that stays in its thread.
func (e *entry) counted() bool {
	return e.flags&entSilent == 0 && e.flags&(entReply|entBroadcast) != entReply
}

func appendBytes(dst, b []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// append encodes the entry as docs/formats.md says, without its seq.
func (e *entry) append(dst []byte) []byte {
	dst = append(dst, e.flags)
	dst = binary.AppendVarint(dst, e.time)
	dst = binary.AppendUvarint(dst, uint64(e.logTime-e.time))
	dst = binary.AppendUvarint(dst, uint64(e.off))
	back := uint32(0)
	if e.prevOwn != 0 {
		back = e.seq - e.prevOwn
	}
	dst = binary.AppendUvarint(dst, uint64(back))
	dst = appendBytes(dst, e.id)
	dst = appendBytes(dst, e.sender)
	dst = appendBytes(dst, e.preview)
	if e.flags&entReply != 0 {
		dst = appendBytes(dst, e.thread)
		back = 0
		if e.prevIn != 0 {
			back = e.seq - e.prevIn
		}
		dst = binary.AppendUvarint(dst, uint64(back))
	}
	if e.flags&entMentions != 0 {
		dst = appendBytes(dst, e.users)
	}
	return dst
}

// decode reads what append wrote.
func (e *entry) decode(seq uint32, b []byte) error {
	r := reader{b: b}
	*e = entry{seq: seq, flags: r.byte()}
	e.time = r.varint()
	e.logTime = e.time + int64(r.uvarint())
	e.off = int64(r.uvarint())
	if back := uint32(r.uvarint()); back != 0 {
		e.prevOwn = seq - back
	}
	e.id, e.sender, e.preview = r.bytes(), r.bytes(), r.bytes()
	if e.flags&entReply != 0 {
		e.thread = r.bytes()
		if back := uint32(r.uvarint()); back != 0 {
			e.prevIn = seq - back
		}
	}
	if e.flags&entMentions != 0 {
		e.users = r.bytes()
	}
	return r.done()
}

// appendUsers encodes a list of ids, each once, in the order given.
func appendUsers(dst []byte, ids [][]byte) []byte {
	eachDistinct(ids, func(id []byte) { dst = appendBytes(dst, id) })
	return dst
}

// eachDistinct calls fn for every id once, in the order given.
func eachDistinct(ids [][]byte, fn func(id []byte)) {
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
		if _, again := seen[string(id)]; !again {
			seen[string(id)] = struct{}{}
			fn(id)
		}
	}
}

// eachUser calls fn for every id of an encoded list.
func eachUser(users []byte, fn func(id []byte)) {
	r := reader{b: users}
	for len(r.b) > 0 && r.err == nil {
		fn(r.bytes())
	}
}

// reader takes fields off a record; the first thing that does not fit sets err, and everything after is zero.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("record cut short: %s expected", what)
	}
	r.b = nil
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail("a byte")
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) uvarint() uint64 {
	if len(r.b) > 0 && r.b[0] < 0x80 { // most are short
		v := r.b[0]
		r.b = r.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail("an unsigned number")
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) u32() uint32 {
	v := r.uvarint()
	if v > 1<<32-1 {
		r.fail("a number of 32 bits")
		return 0
	}
	return uint32(v)
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail("a number")
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) bytes() []byte {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail("a string")
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) fixed(n int) []byte {
	if len(r.b) < n {
		r.fail(fmt.Sprintf("%d bytes", n))
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) done() error {
	if r.err == nil && len(r.b) > 0 {
		r.err = fmt.Errorf("record has %d bytes too many", len(r.b))
	}
	return r.err
}
