package importer

import (
	"bytes"

	"github.com/tidemark/tidemark/events/eventsv1"
)

// messages is the first pass: it writes chat.messages, in the order of time.
func (p *plan) messages() error {
	var e Event
	var last []byte
	step := func(key, value []byte) error {
		p.note()
		if bytes.Equal(key, last) {
			return nil // the source has this row twice
		}
		last = append(last[:0], key...)
		if err := e.decode(value); err != nil {
			return err
		}
		return p.step(key, &e)
	}
	if err := p.before.walk(nil, step); err != nil {
		return err
	}
	if err := p.events.walk(key(p.cut, 0), step); err != nil {
		return err
	}
	if err := p.writeJoins(); err != nil {
		return err
	}
	if err := p.deleteUntil(nil); err != nil {
		return err
	}
	for _, c := range p.channels {
		if err := p.setNext(c, ""); err != nil {
			return err
		}
	}
	return nil
}

// step writes the event of one place.
func (p *plan) step(key []byte, e *Event) error {
	if e.Kind != KindMember || p.isDue(key) {
		if err := p.writeJoins(); err != nil {
			return err
		}
	}
	if err := p.deleteUntil(key); err != nil {
		return err
	}
	switch e.Kind {
	case KindMember:
		return p.join(key, e)
	case KindPost:
		return p.posted(key, e)
	case kindSeed:
		p.channel(e.Channel).seq = e.Seq
		return p.message(key, e.Channel, e.At, &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MessagesSeeded{
			MessagesSeeded: &eventsv1.MessagesSeeded{Count: e.Seq},
		}})
	case kindLeave:
		return p.message(key, e.Channel, e.At, &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MembersLeft{
			MembersLeft: &eventsv1.MembersLeft{UserIds: []string{e.User}},
		}})
	case KindChannelDeleted:
		return p.message(key, e.Channel, e.At, &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_ChannelDeleted{
			ChannelDeleted: &eventsv1.ChannelDeleted{},
		}})
	case KindPointer:
		p.pointAt(e)
	}
	return nil
}

// posted writes a message, and resolves the pointers that name it by its number in the source.
func (p *plan) posted(key []byte, e *Event) error {
	if err := p.write(key, e); err != nil || timeOf(key) < p.cut {
		return err // messages before the cut were numbered in seedChannels
	}
	c := p.channel(e.Channel)
	c.index++
	for i := range c.bySeq[c.index] {
		x := &c.bySeq[c.index][i]
		if x.Until == 0 {
			x.Until = e.At
		}
		p.pointAt(x)
	}
	return nil
}
