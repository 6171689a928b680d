package importer

import (
	"encoding/binary"
	"errors"
)

const (
	flagMentionAll = 1 << iota
	flagSilent
	flagBroadcast
	flagDirect
	flagPrivate
	flagBefore
	flagThreads
)

// append appends the encoded event to b.
func (e *Event) append(b []byte) []byte {
	flags := byte(0)
	for i, on := range []bool{e.MentionAll, e.Silent, e.Broadcast, e.Direct, e.Private, e.Before, e.Threads} {
		if on {
			flags |= 1 << i
		}
	}
	b = append(b, byte(e.Kind), flags)
	for _, s := range []string{e.Channel, e.User, e.ID, e.Thread, e.Text} {
		b = appendText(b, s)
	}
	b = binary.AppendVarint(b, e.At)
	b = binary.AppendVarint(b, e.Until)
	b = binary.AppendUvarint(b, uint64(e.Seq))
	b = binary.AppendUvarint(b, uint64(len(e.Mentions)))
	for _, m := range e.Mentions {
		b = appendText(b, m)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errRun = errors.New("a sorted run of the import is damaged; was its file changed? Run the import again")

// decode replaces e with the event in b.
func (e *Event) decode(b []byte) error {
	if len(b) < 2 {
		return errRun
	}
	f := b[1]
	*e = Event{
		Kind: Kind(b[0]), MentionAll: f&flagMentionAll != 0, Silent: f&flagSilent != 0, Broadcast: f&flagBroadcast != 0,
		Direct: f&flagDirect != 0, Private: f&flagPrivate != 0, Before: f&flagBefore != 0, Threads: f&flagThreads != 0,
		Mentions: e.Mentions[:0],
	}
	r := reader{b: b[2:]}
	for _, s := range []*string{&e.Channel, &e.User, &e.ID, &e.Thread, &e.Text} {
		*s = r.text()
	}
	e.At, e.Until, e.Seq = r.varint(), r.varint(), uint32(r.uvarint())
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		e.Mentions = append(e.Mentions, r.text())
	}
	if r.bad {
		return errRun
	}
	return nil
}

// reader decodes fields from the front of b.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}
