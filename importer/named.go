package importer

import (
	"bytes"
	"encoding/binary"
)

// Kinds of named entries. A message sorts before the pointers that name it.
const (
	nameOfPost byte = iota
	nameOfPointer
)

func nameKey(channel, id string, of byte) []byte {
	h := pairOf(channel, id)
	return append(h[:], of)
}

func appendOrigin(o Origin, e *Event) []byte {
	b := appendText(nil, o.Table)
	b = binary.AppendVarint(b, o.Row)
	return e.append(b)
}

// placeNamed puts each pointer that names a message right after that message. If the source has
// several rows of one message, the first one counts.
func (p *plan) placeNamed() error {
	var message, at []byte
	var e Event
	return p.names.walk(nil, func(key, value []byte) error {
		name, of := key[:len(key)-1], key[len(key)-1]
		if of == nameOfPost {
			if !bytes.Equal(name, message) {
				message, at = append(message[:0], name...), append(at[:0], value...)
			}
			return nil
		}
		r := reader{b: value}
		o := Origin{Table: r.text(), Row: r.varint()}
		if err := e.decode(r.b); err != nil {
			return err
		}
		if !bytes.Equal(name, message) {
			p.problems.Add(o, "a pointer at a message that the source does not have", e.Channel+" "+e.User+" "+e.ID)
			return nil
		}
		e.At = timeOf(at)
		if e.Until == 0 {
			e.Until = e.At
		}
		k := behind(bytes.Clone(at))
		if e.Before {
			k = before(at, e.Channel)
		}
		return p.place(append(append(append(k, e.User...), 0), e.Thread...), &e)
	})
}
