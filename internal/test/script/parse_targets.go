package script

import "github.com/tidemark/tidemark/events"

// time reads "of m1" or a time.
func (p *Parser) time(l *line, h *head) int64 {
	if l.take("of") {
		id := l.word("the message whose time is meant")
		t, ok := p.sentAt[h.channel+"\x00"+id]
		if !ok {
			l.fail("the time of %s is not known: nothing above posts it", id)
		}
		return t
	}
	t, err := ParseTime(l.word("a time"))
	if err != nil {
		l.fail("%w", err)
	}
	return t
}

// target parses the target of a read or a purge.
func (p *Parser) target(l *line, h *head) (t events.Target, id []byte, seq uint32, time int64) {
	switch {
	case l.take("seq"):
		return events.TargetSeq, nil, l.number("seq"), 0
	case l.take("time"):
		return events.TargetTime, nil, 0, p.time(l, h)
	}
	return events.TargetMessageID, []byte(l.word("a message id")), 0, 0
}

// idOrSeq reads "m1", "m1 seq 7" or "seq 7".
func (l *line) idOrSeq() (id []byte, seq uint32) {
	if l.take("seq") {
		return nil, l.number("seq")
	}
	id = []byte(l.word("a message id"))
	if l.take("seq") {
		seq = l.number("seq")
	}
	return id, seq
}

// thread parses "in thread m0" at any place in the line.
func thread(l *line) []byte {
	tail, ok := l.option("in")
	if !ok {
		return nil
	}
	if !tail.take("thread") {
		tail.fail(`"in" needs "thread" and an id`)
	}
	id := tail.word("a thread")
	l.rejoin(tail)
	return []byte(id)
}

func headSeq(l *line) uint32 {
	if l.take("head", "seq") {
		return l.number("head seq")
	}
	return 0
}
