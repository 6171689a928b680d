package importer

import (
	"bytes"
	"encoding/binary"
)

// Kinds of pointers.
const (
	pointerBaseline byte = 1 + iota // a member from then on; seq and own are positions in the seed
	pointerOlder                    // a pointer into the seed; seq and own are positions in it
	pointerAt                       // a pointer at the written message seq
	pointerPosted                   // read up to here by posting; seq as in pointerAt
)

// pointer is a user's place in a channel or thread.
type pointer struct {
	channel, user, thread string
	kind                  byte
	private               bool
	threads               bool // reads the channel's threads, too
	seq, own              uint32
	next                  string // id of the message after seq, if there is one
	at                    int64  // when it was set
}

// addPointer adds a pointer to the others of the same user in the same channel or thread.
func (p *plan) addPointer(x *pointer) error {
	k := append(append(append([]byte(x.channel), 0), x.user...), 0)
	k = append(append(k, x.thread...), 0)
	flags := byte(0)
	for i, on := range []bool{x.private, x.threads} {
		if on {
			flags |= 1 << i
		}
	}
	b := []byte{x.kind, flags}
	for _, s := range []string{x.channel, x.user, x.thread, x.next} {
		b = appendText(b, s)
	}
	b = binary.AppendUvarint(b, uint64(x.seq))
	b = binary.AppendUvarint(b, uint64(x.own))
	return p.pointers.add(k, binary.AppendVarint(b, x.at))
}

func (x *pointer) decode(b []byte) error {
	if len(b) < 2 {
		return errRun
	}
	*x = pointer{kind: b[0], private: b[1]&1 != 0, threads: b[1]&2 != 0}
	r := reader{b: b[2:]}
	for _, s := range []*string{&x.channel, &x.user, &x.thread, &x.next} {
		*s = r.text()
	}
	x.seq, x.own, x.at = uint32(r.uvarint()), uint32(r.uvarint()), r.varint()
	if r.bad {
		return errRun
	}
	return nil
}

// pointAt adds a pointer to the newest message that was written.
func (p *plan) pointAt(e *Event) {
	c := p.channel(e.Channel)
	kind := pointerAt
	if e.Silent {
		kind = pointerPosted
	}
	c.waiting = append(c.waiting, pointer{
		kind: kind, channel: e.Channel, user: e.User, thread: e.Thread, seq: c.seq, at: e.Until, private: e.Private, threads: e.Threads,
	})
}

// setNext completes the pointers to the newest message with the id of the next one; "" means that
// there is none.
func (p *plan) setNext(c *channel, id string) error {
	for i := range c.waiting {
		c.waiting[i].next = id
		if err := p.addPointer(&c.waiting[i]); err != nil {
			return err
		}
	}
	c.waiting = c.waiting[:0]
	return nil
}

// eachPlace calls fn with all pointers of one user in one channel or thread.
func (p *plan) eachPlace(fn func(all []pointer) error) error {
	var last []byte
	var all []pointer
	err := p.pointers.walk(nil, func(key, value []byte) error {
		if !bytes.Equal(key, last) && len(all) > 0 {
			if err := fn(all); err != nil {
				return err
			}
			all = all[:0]
		}
		last = append(last[:0], key...)
		var x pointer
		if err := x.decode(value); err != nil {
			return err
		}
		all = append(all, x)
		return nil
	})
	if err == nil && len(all) > 0 {
		err = fn(all)
	}
	return err
}

// settled is the place of a user by all of their pointers. explicit means that the source itself
// has a pointer, which wins over the user's own later messages.
type settled struct {
	seq      uint32
	next     string
	at       int64
	private  bool
	threads  bool
	explicit bool
}

// settle reduces the pointers of a user to one place.
func (p *plan) settle(c *channel, own *poster, all []pointer) (s settled) {
	s.private = true
	for i := range all {
		s.explicit = s.explicit || all[i].kind == pointerAt || all[i].kind == pointerOlder
	}
	for i := range all {
		x := &all[i]
		if x.kind == pointerPosted && s.explicit {
			continue
		}
		seq, private := x.seq, x.private || x.kind == pointerBaseline
		if x.kind == pointerBaseline || x.kind == pointerOlder {
			if seq = c.seeded(own, x); seq == c.seed {
				x.next = c.next
			}
		}
		switch {
		case seq > s.seq:
			s.seq, s.next, s.private, s.threads = seq, x.next, private, x.threads
		case seq == s.seq:
			s.threads = s.threads || x.threads
			s.next, s.private = x.next, s.private && private // if one of two reads of the same place is public, the place is public
		}
		s.at = max(s.at, x.at)
	}
	if !s.explicit && own != nil && own.newer > 0 {
		s.seq = max(s.seq, own.newer) // posting reads; the seed has no newer message of theirs
	}
	return s
}

// seeded returns the message of the seed up to which a user has read according to a pointer.
// Messages of the seed have no sender, so seeded subtracts the user's own messages from those after
// the pointer.
func (c *channel) seeded(own *poster, x *pointer) uint32 {
	mine := uint32(0)
	if own != nil {
		mine = own.own - x.own
	}
	return c.seed - ((c.seed - x.seq) - mine)
}
