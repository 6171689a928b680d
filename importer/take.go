package importer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidemark/tidemark/events"
)

// unknownSender is the sender of messages without one in the source: a message that counts needs a
// sender.
const unknownSender = "unknown-sender"

// previewRunes is how many characters of a message's text are written: as many as Tidemark keeps.
const previewRunes = 140

// take adds an event of the source.
func (p *plan) take(o Origin, e *Event) error {
	p.note()
	if !p.usable(o, e) {
		return nil
	}
	switch e.Kind {
	case KindChannel:
		p.channel(e.Channel).direct = e.Direct
	case KindMember:
		return p.member(o, *e)
	case KindPost:
		return p.post(e)
	case KindChannelDeleted:
		return p.place(e.place(), e)
	case KindPointer:
		return p.pointer(o, e)
	case KindSingle:
		return p.single(o, e)
	case KindFollow, KindUnfollow, KindMute:
		if e.Thread != "" {
			p.threadOf(e.Channel, e.Thread).named = true
		}
		return p.addSetting(stageSetting, e)
	}
	return nil
}

// usable corrects an event where it can, and reports whether Tidemark accepts it.
func (p *plan) usable(o Origin, e *Event) bool {
	bad := func(field, id string, optional bool) bool {
		if (id == "" && optional) || events.ValidID([]byte(id)) {
			return false
		}
		reason := field + " is not an id: 1 to 255 bytes of UTF-8 without control characters"
		if id == "" {
			reason = "no " + field
		}
		p.problems.Add(o, reason, strconv.Quote(id))
		return true
	}
	ofMessage := e.Kind == KindPost || e.Kind == KindEdit || e.Kind == KindDelete
	ofUser := e.Kind != KindChannel && e.Kind != KindChannelDeleted && !ofMessage
	if bad("channel", e.Channel, false) || bad("user", e.User, !ofUser) ||
		bad("message", e.ID, !ofMessage && e.Kind != KindSingle) || bad("thread", e.Thread, e.Kind != KindFollow && e.Kind != KindUnfollow) {
		return false
	}
	for _, at := range []*int64{&e.At, &e.Until} {
		if *at > p.clock {
			p.problems.Add(o, "a time ahead of the clock: taken as the time of the import", e.Channel+" "+e.ID+e.User+" "+stamp(*at))
			*at = p.now
		}
		if *at < 0 {
			p.problems.Add(o, "a time before 1970: taken as its beginning", e.Channel+" "+e.ID+e.User+" "+stamp(*at))
			*at = 1
		}
	}
	if e.Kind != KindPost && e.Kind != KindEdit {
		return true
	}
	if e.Kind == KindPost {
		if e.At == 0 {
			p.problems.Add(o, "a message without a time", e.Channel+" "+e.ID)
			return false
		}
		if e.User == "" && !e.Silent {
			p.problems.Add(o, "a message without a sender: written as of "+unknownSender, e.Channel+" "+e.ID)
			e.User = unknownSender
		}
		if e.Until != 0 && e.Until < e.At {
			e.Until = e.At
		}
	}
	mentions := e.Mentions[:0]
	for _, m := range e.Mentions {
		if !bad("mentioned user", m, false) {
			mentions = append(mentions, m)
		}
	}
	e.Mentions, e.Text = mentions, preview(e.Text)
	return true
}

// Usable returns a function that corrects events as an import at that time does, and reports
// whether the import takes them.
func Usable(now int64) func(Origin, *Event) bool {
	p := &plan{now: now, clock: now + events.MaxClockAhead, problems: &Problems{}}
	return p.usable
}

// preview returns the part of a text that Tidemark keeps.
func preview(text string) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	n := 0
	for i := range text {
		if n == previewRunes {
			return text[:i]
		}
		n++
	}
	return text
}

// member splits a membership into a join and a leave.
func (p *plan) member(o Origin, e Event) error {
	if e.Until != 0 && e.Until < e.At {
		p.problems.Add(o, "somebody left before they joined", fmt.Sprintf("%s %s %s", e.Channel, e.User, stamp(e.Until)))
		return nil
	}
	until := e.Until
	e.At, e.Until = max(e.At, 1), 0
	if err := p.place(e.place(), &e); err != nil || until == 0 {
		return err
	}
	e.Kind, e.At = kindLeave, until
	return p.place(e.place(), &e)
}

func (p *plan) post(e *Event) error {
	k := e.place()
	if e.Thread != "" && p.cut > 0 {
		t := p.threadOf(e.Channel, e.Thread)
		t.last = max(t.last, e.At)
	}
	if p.byID {
		if err := p.names.add(nameKey(e.Channel, e.ID, nameOfPost), k); err != nil {
			return err
		}
	}
	return p.place(k, e)
}

// pointer adds a pointer at the place that it names. A pointer without a place means that the user
// has viewed nothing.
func (p *plan) pointer(o Origin, e *Event) error {
	if e.Thread != "" {
		p.threadOf(e.Channel, e.Thread).named = true
	}
	if e.Until == 0 {
		e.Until = e.At
	}
	switch {
	case e.ID != "":
		p.byID = true
		return p.names.add(nameKey(e.Channel, e.ID, nameOfPointer), appendOrigin(o, e))
	case e.Seq > 0:
		c := p.channel(e.Channel)
		if c.bySeq == nil {
			c.bySeq = map[uint32][]Event{}
		}
		c.bySeq[e.Seq] = append(c.bySeq[e.Seq], *e)
		return nil
	case e.At > 0:
		return p.place(e.place(), e)
	}
	return nil
}
