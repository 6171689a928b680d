package rules

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// FoldMessage folds the record of chat.messages at offset (DESIGN §4.1); timestamp is the record's,
// in Unix milliseconds. The caller holds the partition's Lock.
func (p *Fold) FoldMessage(m *events.Message, offset, timestamp int64) state.Outcome {
	p.Positions[events.Messages] = offset + 1
	if m.OccurredAt > p.MessageTime {
		p.MessageTime = m.OccurredAt
		if len(p.Lapses) > 0 {
			p.wakeLapsed()
		}
	}
	ci, c := p.EnsureChannel(m.ChannelID)
	if c.Flags&state.ChannelDeleted != 0 {
		return state.OutcomeIgnored
	}
	c.LastM = offset + 1
	p.TouchChannel(ci, c)
	switch m.Kind {
	case events.KindMessagePosted:
		return p.posted(ci, c, m, offset)
	case events.KindMessageEdited:
		return p.edited(ci, c, m)
	case events.KindMessageDeleted:
		return p.deleted(ci, c, m)
	case events.KindMessagesPurged:
		return p.purged(ci, c, m)
	case events.KindMembersJoined:
		return p.joined(ci, c, m)
	case events.KindMembersLeft:
		return p.left(ci, c, m)
	case events.KindChannelDeleted:
		p.deleteChannel(ci, c)
		return state.OutcomeApplied
	case events.KindMessagesSeeded:
		return p.seeded(ci, c, m)
	case events.KindChannelUpdated:
		return p.channelUpdated(ci, c, m)
	}
	return state.OutcomeIgnored
}

func (p *Fold) edited(ci uint32, c *state.Channel, m *events.Message) state.Outcome {
	x, ok := p.Lookup(c, m.MessageID, state.IDHash(m.MessageID), p.MessageTime)
	if !ok {
		return state.OutcomeIgnored
	}
	e := p.EntryAt(c, x.Seq)
	if e.Flags&history.Deleted != 0 {
		return state.OutcomeIgnored
	}
	old := e
	old.Users, old.Preview = slices.Clone(e.Users), slices.Clone(e.Preview)
	e.ID, e.Sender, e.Thread = slices.Clone(e.ID), slices.Clone(e.Sender), slices.Clone(e.Thread)
	e.Preview = m.Preview
	if m.KeepMentions {
		e.Users = old.Users
	} else {
		p.setMentions(&e, m)
	}
	latest := e.Seq == c.Latest && string(old.Preview) != string(m.Preview)
	p.comparing(c, func() {
		p.ReplaceEntry(c, &e)
		if !e.Counted() {
			return
		}
		if (old.Flags^e.Flags)&history.MentionsAll != 0 {
			alls := &p.EnsureExtra(c).Alls
			if e.Flags&history.MentionsAll != 0 {
				alls.Add(e.Seq)
			} else {
				alls.Remove(e.Seq)
			}
			p.ChannelChanged(ci, c)
		}
		p.mention(ci, &e, e.Users, old.Users)
	})
	p.editedReply(ci, c, &e, &old)
	if latest {
		p.membersChanged(ci, c)
		p.ChannelChanged(ci, c)
	}
	return state.OutcomeApplied
}

func (p *Fold) deleted(ci uint32, c *state.Channel, m *events.Message) state.Outcome {
	seq := m.Seq
	x, ok := p.Lookup(c, m.MessageID, state.IDHash(m.MessageID), p.MessageTime)
	if ok {
		seq = x.Seq
	}
	if !ok && !p.NamedBySeq(c, seq, p.MessageTime) {
		return state.OutcomeIgnored
	}
	if seq <= p.SeedOf(c) {
		return p.deletedSeeded(ci, c, seq)
	}
	e := p.EntryAt(c, seq)
	if e.Flags&history.Deleted != 0 {
		return state.OutcomeDuplicate
	}
	e.ID, e.Sender, e.Thread = slices.Clone(e.ID), slices.Clone(e.Sender), slices.Clone(e.Thread)
	users := slices.Clone(e.Users)
	if e.Trimmed && e.Flags&history.MentionsUsers != 0 {
		users = p.MentionedBy(ci, c, &e)
	}
	e.Flags |= history.Deleted
	e.Preview, e.Users = nil, nil // a deleted message keeps no text and no mentions
	e.Flags &^= history.MentionsUsers
	all := e.Flags&history.MentionsAll != 0
	p.ReplaceEntry(c, &e)
	p.deletedInThread(ci, c, &e, users)
	if !e.Counted() {
		return state.OutcomeApplied
	}
	p.comparing(c, func() {
		sets := p.EnsureExtra(c)
		sets.Deleted.Add(seq)
		if all {
			sets.Alls.Remove(seq)
		}
		p.mention(ci, &e, nil, users)
		if seq == c.Latest {
			p.fallBack(c)
		}
	})
	p.ChannelChanged(ci, c)
	return state.OutcomeApplied
}

// fallBack finds the newest live counted message below the current latest one.
func (p *Fold) fallBack(c *state.Channel) {
	s, low := c.Latest, max(c.Floor, p.SeedOf(c))
	if x := p.ExtraOf(c); x != nil {
		for s > low {
			t := x.Uncounted.PrevAbsent(x.Deleted.PrevAbsent(s))
			if t == s {
				break
			}
			s = t
		}
	}
	if s <= low {
		s = 0
	}
	c.Latest = s
}

func (p *Fold) purged(ci uint32, c *state.Channel, m *events.Message) state.Outcome {
	var to uint32
	switch m.Target {
	case events.TargetMessageID:
		x, ok := p.Lookup(c, m.MessageID, state.IDHash(m.MessageID), p.MessageTime)
		if !ok {
			return state.OutcomeIgnored
		}
		to = x.Seq
	case events.TargetSeq:
		to = min(m.Seq, c.HeadSeq)
	case events.TargetTime:
		to = p.SeqBefore(c, m.TargetTime, 1<<63-1, p.MessageTime)
	}
	if to <= c.Floor {
		return state.OutcomeDuplicate
	}
	p.purgedThreads(c, c.Floor, to)
	p.comparing(c, func() {
		c.Floor = to
		if c.Latest != 0 && c.Latest <= to {
			p.fallBack(c)
		}
	})
	p.ChannelChanged(ci, c)
	return state.OutcomeApplied
}
