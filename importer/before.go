package importer

import (
	"bytes"
	"errors"
)

// threadListed is the age before the cut up to which a thread's newest reply makes the import write
// the whole thread. Nobody's list has threads with an older newest reply (DESIGN §4.4).
const threadListed = 30 * 24 * 60 * 60 * 1000

// errCut ends the pass over events before the cut.
var errCut = errors.New("the cut")

// seedChannels makes the pass over events before the cut. Messages that count become one number for
// each channel, and pointers to them become numbers of unread messages. Members, and replies of
// threads that still matter, go to before.
func (p *plan) seedChannels() error {
	if p.cut == 0 {
		return nil
	}
	var e Event
	var last []byte
	err := p.events.walk(nil, func(key, value []byte) error {
		if timeOf(key) >= p.cut {
			return errCut
		}
		p.note()
		if bytes.Equal(key, last) {
			return nil // the source has this row twice
		}
		last = append(last[:0], key...)
		if err := e.decode(value); err != nil {
			return err
		}
		switch e.Kind {
		case KindPost:
			return p.older(key, value, &e)
		case KindPointer:
			return p.olderPointer(key, value, &e)
		case KindMember:
			if err := p.baseline(&e); err != nil {
				return err
			}
		}
		return p.before.add(key, value)
	})
	if err != nil && !errors.Is(err, errCut) {
		return err
	}
	for _, c := range p.channels {
		if c.seed = c.counted; c.seed == 0 {
			continue
		}
		e := Event{Kind: kindSeed, Channel: c.id, At: c.first, Seq: c.seed}
		if err := p.before.add(append(key(c.first, rankSeed), c.id...), e.append(nil)); err != nil {
			return err
		}
	}
	return nil
}

// older takes a message before the cut. The seed leaves out messages that are deleted by now,
// because no reader can later see whether they ever counted.
func (p *plan) older(key, value []byte, e *Event) error {
	c := p.channel(e.Channel)
	c.index++
	if c.first == 0 {
		c.first = e.At
	}
	reply := e.Thread != "" && !e.Broadcast
	if !reply && !e.Silent {
		own := p.poster(e.Channel, e.User, "")
		if e.Until == 0 || e.Until > p.now {
			c.counted++
			own.own++
		}
		if e.Until > p.now { // deleted after the import began, so an earlier run has counted it in the seed
			p.deleteLater(e, c.counted, "")
		}
		own.newer = c.counted // posting a message reads the messages before it, even if it is deleted later
	}
	if err := p.olderInThread(key, value, e); err != nil {
		return err
	}
	for _, at := range c.bySeq[c.index] {
		at.At = e.At
		k := behind(append([]byte{}, key...))
		if err := p.olderPointer(append(append(append(k, at.User...), 0), at.Thread...), at.append(nil), &at); err != nil {
			return err
		}
	}
	return nil
}

// olderInThread takes a message before the cut that belongs to a thread, if the import writes that
// thread. It writes a reply as it is, and the root as silent, because the seed counts it already.
// The seed also counts a broadcast reply, so only the follows that it causes are written.
func (p *plan) olderInThread(key, value []byte, e *Event) error {
	root := e.Thread
	if root == "" {
		root = e.ID
	}
	t := p.threads[pairOf(e.Channel, root)]
	if !p.matters(t) {
		return nil
	}
	switch {
	case e.Thread == "":
		t.author = e.User
		silent := *e
		silent.Silent = true
		return p.before.add(key, silent.append(nil))
	case !e.Broadcast:
		return p.before.add(key, value)
	case e.Silent:
		return nil
	}
	for _, user := range append([]string{t.author, e.User}, e.Mentions...) {
		if user == "" {
			continue
		}
		if err := p.addSetting(stageFollowed, &Event{Kind: KindFollow, Channel: e.Channel, User: user, Thread: root, At: e.At - 1}); err != nil {
			return err
		}
	}
	// Posting a reply reads the thread.
	read := Event{Kind: KindPointer, Channel: e.Channel, User: e.User, Thread: root, At: e.At, Until: e.At, Silent: true}
	return p.before.add(read.place(), read.append(nil))
}

// matters reports whether the import writes a thread that began before the cut.
func (p *plan) matters(t *thread) bool {
	return t != nil && (t.named || t.last >= p.cut-threadListed)
}

// olderPointer takes a pointer to a place before the cut.
func (p *plan) olderPointer(key, value []byte, e *Event) error {
	if e.Thread != "" || e.Threads {
		return p.before.add(key, value) // replies keep their numbers
	}
	return p.keep(e, p.channel(e.Channel), pointer{kind: pointerOlder, at: e.Until, private: e.Private})
}

// baseline takes a user who joins before the cut: for them, earlier messages are not unread.
func (p *plan) baseline(e *Event) error {
	c := p.channel(e.Channel)
	if c.direct {
		return p.addPointer(&pointer{kind: pointerBaseline, channel: e.Channel, user: e.User})
	}
	return p.keep(e, c, pointer{kind: pointerBaseline})
}

// keep records how many messages of the seed come after a place, and how many of them are the
// user's own.
func (p *plan) keep(e *Event, c *channel, x pointer) error {
	x.seq = c.counted
	if own := p.posters[pairOf(e.Channel, e.User, "")]; own != nil {
		x.own = own.own
	}
	x.channel, x.user = e.Channel, e.User
	return p.addPointer(&x)
}
