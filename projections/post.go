package projections

import (
	"bytes"

	"github.com/tidemark/tidemark/events"
)

func (p *Partition) posted(ci uint32, c *channel, m *events.Message, offset int64) Outcome {
	hash := idHash(m.MessageID)
	// An id beyond all that were posted is new for sure, so that ids that grow with time, as most do, cost no lookup.
	grows := bytes.Compare(m.MessageID, p.blobs.get(c.maxID)) > 0
	if !grows {
		if _, dup := p.lookup(c, m.MessageID, hash, p.logTime); dup {
			return OutcomeDuplicate
		}
		p.noteRepost(c, m.MessageID, hash)
	}
	if c.headSeq >= MaxSeq {
		return OutcomeChannelFull
	}
	e := entry{
		seq: c.headSeq + 1, time: max(m.OccurredAt, c.time), logTime: p.logTime, off: offset,
		id: m.MessageID, sender: m.SenderID, preview: m.Preview, thread: m.ThreadID,
	}
	if m.Silent {
		e.flags |= entSilent
	}
	if len(m.ThreadID) > 0 {
		e.flags |= entReply
	}
	if m.Broadcast {
		e.flags |= entBroadcast
	}
	p.setMentions(&e, m)

	p.notePosted(c, e.seq, m.MemberCount)
	inThread := p.beforeReply(ci, c, &e)
	counted := e.counted()
	var senderRef uint32
	var sender *row
	var compare bool
	var before uint64
	if counted && len(m.SenderID) > 0 {
		senderRef, sender = p.ensureRow(ci, p.ensureUser(m.SenderID))
		// Nearly always the post moves its sender's pointer. Where it need not, what he sees is compared.
		x := p.excOf(sender)
		if compare = p.settings.SendMarksRead && (sender.erased() || (x != nil && len(x.held)+len(x.floors) > 0)); compare {
			before = p.signature(c, sender)
		}
		if x != nil && x.ownKept {
			x.own = append(x.own, e.seq)
		}
	}
	c.headSeq = e.seq
	if c.headSeq == 1 {
		c.firstTime = e.time
	}
	c.time, c.logTime = e.time, e.logTime
	if counted {
		c.headPos++
		c.latest = e.seq
	} else {
		p.ensureExt(c).uncounted.add(e.seq)
	}
	if sender != nil {
		e.prevOwn, sender.lastOwn, sender.ownAt = sender.lastOwn, e.seq, e.time
		p.touchRow(senderRef, sender)
		p.dropQueued(senderRef, sender)
	}
	if !p.noteID(c, &e, grows) {
		p.indexMessage(c, &e)
	}
	p.appendMessage(c, &e, hash)
	p.afterPost(c, &e, inThread)
	if counted {
		if e.flags&entAll != 0 {
			p.ensureExt(c).alls.add(e.seq)
		}
		p.mention(ci, &e, e.users, nil)
		if sender != nil {
			if x := p.excOf(sender); x != nil && len(x.held) > 0 && p.settle(senderRef) {
				p.emitCheck(senderRef)
			}
			switch {
			case compare && p.signature(c, sender) == before:
			case !p.settings.SendMarksRead && (sender.flags&rowMember == 0 || c.flags&chLarge == 0):
				// An own post that moves nothing is told in a large channel only, as one more excluded position.
			default:
				p.emit(senderRef)
			}
		}
		p.emitMembers(ci, c)
	}
	p.emitChannel(ci, c)
	p.wakePosted(c, m.MessageID)
	return OutcomeApplied
}

// setMentions states the mentions of a new or edited message.
func (p *Partition) setMentions(e *entry, m *events.Message) {
	e.flags &^= entAll | entMentions
	e.users = nil
	if m.MentionAll {
		e.flags |= entAll
	}
	if len(m.IDs) > 0 {
		e.flags |= entMentions
		e.users = appendUsers(nil, m.IDs)
	}
}

// mention enters a counted message into the sets of those it mentions now, and takes it out of the sets of those it
// mentioned before.
func (p *Partition) mention(ci uint32, e *entry, now, before []byte) {
	if len(now) == 0 && len(before) == 0 {
		return
	}
	had := map[string]bool{}
	eachUser(before, func(id []byte) { had[string(id)] = true })
	eachUser(now, func(id []byte) {
		if had[string(id)] {
			delete(had, string(id))
			return
		}
		ref, r := p.ensureRow(ci, p.ensureUser(id))
		p.ensureExc(r).mentions.add(e.seq)
		p.touchExc(ref, r)
		p.emitMention(ref, e.seq)
	})
	eachUser(before, func(id []byte) {
		if !had[string(id)] {
			return
		}
		ref, r := p.ensureRow(ci, p.ensureUser(id))
		p.ensureExc(r).mentions.remove(e.seq)
		p.touchExc(ref, r)
		p.emitMention(ref, e.seq)
	})
}
