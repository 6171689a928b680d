package rules

import (
	"bytes"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/state"
)

func (p *Fold) posted(ci uint32, c *state.Channel, m *events.Message, offset int64) state.Outcome {
	hash := state.IDHash(m.MessageID)
	// An id greater than all earlier ones is certainly new. So ids that grow with time, as most do,
	// cost no lookup.
	grows := bytes.Compare(m.MessageID, p.Blobs.Get(c.MaxID)) > 0
	if !grows {
		if _, dup := p.Lookup(c, m.MessageID, hash, p.MessageTime); dup {
			return state.OutcomeDuplicate
		}
		p.NoteRepost(c, m.MessageID, hash)
	}
	if c.HeadSeq >= state.MaxSeq {
		return state.OutcomeChannelFull
	}
	e := history.Entry{
		Seq: c.HeadSeq + 1, Time: max(m.OccurredAt, c.Time), LogTime: p.MessageTime, Offset: offset,
		ID: m.MessageID, Sender: m.SenderID, Preview: m.Preview, Thread: m.ThreadID,
	}
	if m.Silent {
		e.Flags |= history.Silent
	}
	if len(m.ThreadID) > 0 {
		e.Flags |= history.Reply
	}
	if m.Broadcast {
		e.Flags |= history.Broadcast
	}
	p.setMentions(&e, m)
	reads := m.MarksRead.Or(p.Settings.SendMarksRead)
	if reads != p.Settings.SendMarksRead && !m.Silent && len(m.SenderID) > 0 {
		e.Flags |= history.Contrary
		p.NeedsNewFormat(ci, c)
	}

	p.NotePosted(c, e.Seq, m.MemberCount)
	counted := e.Counted()
	p.hideFrom(ci, c, m, e.Seq, counted)
	inThread := p.beforeReply(ci, c, &e)
	var senderRef uint32
	var sender *state.Row
	var compare bool
	var before uint64
	if counted && len(m.SenderID) > 0 {
		senderRef, sender = p.EnsureRow(ci, p.EnsureUser(m.SenderID))
		// Nearly always the post moves its sender's pointer. If it may not, the code below compares
		// the sender's view before and after.
		x := p.ExtraOfPair(sender)
		if compare = reads && (p.Erased(sender) || (x != nil && len(x.Unsettled)+len(x.Floors) > 0)); compare {
			before = p.Signature(c, sender)
		}
		if x != nil && x.OwnKept {
			x.Own = append(x.Own, e.Seq)
		}
	}
	if !counted && c.Latest != 0 && c.Latest == c.HeadSeq {
		p.EnsureExtra(c).Latest.Set(c.Latest, c.Time)
	}
	c.HeadSeq = e.Seq
	if c.HeadSeq == 1 {
		c.FirstTime = e.Time
	}
	c.Time, c.LogTime = e.Time, e.LogTime
	if counted {
		c.HeadPos++
		c.Latest = e.Seq
	} else {
		p.EnsureExtra(c).Uncounted.Add(e.Seq)
	}
	if sender != nil {
		e.PrevOwn = sender.LastOwn
		e.ReadBefore = p.NoteOwn(senderRef, sender, &e)
		p.dropQueued(senderRef, sender)
	}
	if !p.NoteID(c, &e, grows) {
		p.IndexMessage(c, &e)
	}
	p.AppendMessage(c, &e, hash)
	p.NoteFull(ci, c, e.Seq)
	p.afterPost(c, &e, inThread)
	if counted {
		if e.Flags&history.MentionsAll != 0 {
			p.EnsureExtra(c).Alls.Add(e.Seq)
		}
		p.mention(ci, &e, e.Users, nil)
		if sender != nil {
			if x := p.ExtraOfPair(sender); x != nil && len(x.Unsettled) > 0 && p.Settle(senderRef) {
				p.PairMayHaveChanged(senderRef)
			}
			switch {
			case compare && p.Signature(c, sender) == before:
			case !reads && (sender.Flags&state.RowMember == 0 || c.Flags&state.ChannelLarge == 0):
				// An own post that moves no pointer changes a delta only in a large channel, as one
				// more excluded position.
			default:
				p.PairChanged(senderRef)
			}
		}
		p.membersChanged(ci, c)
	}
	p.ChannelChanged(ci, c)
	p.wakePosted(ci, c, m.MessageID)
	return state.OutcomeApplied
}

// setMentions sets the mentions of a new or edited message.
func (p *Fold) setMentions(e *history.Entry, m *events.Message) {
	e.Flags &^= history.MentionsAll | history.MentionsUsers
	e.Users = nil
	if m.MentionAll {
		e.Flags |= history.MentionsAll
	}
	if len(m.IDs) > 0 {
		e.Flags |= history.MentionsUsers
		e.Users = history.AppendUsers(nil, m.IDs)
	}
}

// mention adds a counted message to the sets of the users it mentions now, and removes it from the
// sets of those it mentioned before.
func (p *Fold) mention(ci uint32, e *history.Entry, now, before []byte) {
	if len(now) == 0 && len(before) == 0 {
		return
	}
	had := map[string]bool{}
	history.EachUser(before, func(id []byte) { had[string(id)] = true })
	history.EachUser(now, func(id []byte) {
		if had[string(id)] {
			delete(had, string(id))
			return
		}
		ref, r := p.EnsureRow(ci, p.EnsureUser(id))
		if p.IsHiddenFrom(r, e.Seq) {
			return
		}
		p.EnsurePairExtra(r).Mentions.Add(e.Seq)
		p.TouchPairExtra(ref, r)
		p.mentionChanged(ref, e.Seq)
	})
	history.EachUser(before, func(id []byte) {
		if !had[string(id)] {
			return
		}
		ref, r := p.EnsureRow(ci, p.EnsureUser(id))
		if p.IsHiddenFrom(r, e.Seq) {
			return
		}
		p.EnsurePairExtra(r).Mentions.Remove(e.Seq)
		p.TouchPairExtra(ref, r)
		p.mentionChanged(ref, e.Seq)
	})
}
