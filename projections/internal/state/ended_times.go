package state

import "github.com/tidemark/tidemark/projections/internal/history"

// Of a trimmed block the log keeps the times of the last message only (DESIGN §5). What goes by
// time must not depend on when a cut trimmed a block, so it goes by whole blocks as soon as the
// event, or the head of the channel, no longer remembers the messages.

// SeqBefore is SeqAt for an event at log time now of its own topic. If the event no longer
// remembers the message after the result, which may be trimmed, the result is the end of the block
// before that message's (DESIGN §5).
func (p *State) SeqBefore(c *Channel, t, horizon, now int64) uint32 {
	s, seed := p.SeqAt(c, t, horizon), p.SeedOf(c)
	if !p.Settings.TrimLog || s == c.HeadSeq || s < seed {
		return s
	}
	if next := p.EntryAt(c, s+1); p.Remembers(next.LogTime, now) {
		return s
	}
	return wholeBlocks(seed, s)
}

// WholeAt is SeqAt without a horizon, but if the log ends it returns the end of a block.
func (p *State) WholeAt(c *Channel, t int64) uint32 {
	s, seed := p.SeqAt(c, t, 1<<63-1), p.SeedOf(c)
	if !p.Settings.TrimLog || s < seed {
		return s
	}
	return wholeBlocks(seed, s)
}

// KeepsReach reports whether an event up to a time, which reaches the head while the channel has not
// passed the time, keeps what it reaches: SeqBefore will not go back to the end of a block, because
// the event remembers the first message after the time, whenever that is posted. now is the log time
// of the event's own topic. The result depends on the log time of the whole partition, so no view
// may depend on it.
func (p *State) KeepsReach(t, now int64) bool {
	return p.Remembers(max(t, p.MessageTime), now)
}

// HeadLog is what Told needs of a channel.
type HeadLog struct {
	seed, head uint32
	logTime    int64
}

// HeadLogOf returns the HeadLog of a channel as it is now.
func (p *State) HeadLogOf(c *Channel) HeadLog {
	return HeadLog{p.SeedOf(c), c.HeadSeq, c.LogTime}
}

// mayEnd reports whether the channel lets its log end after a block: the head no longer remembers
// the block's last message, and the newest messages are in none of these blocks.
func (p *State) mayEnd(of *HeadLog, block uint32, logTime int64) bool {
	end := uint64(of.seed) + (uint64(block)+1)*history.BlockLen
	return !p.Remembers(logTime, of.logTime) && end+history.BlockLen <= uint64(of.head)
}

// LogWaits reports whether the next block of a channel's log may be trimmed as far as the channel
// decides: it waits for the log times of the topics. Only a message of the channel changes that, so a
// channel whose log does not wait may be cold.
func (p *State) LogWaits(c *Channel, e Ending) bool {
	if !p.Settings.TrimLog || e.Blocks >= p.FullBlocks(c) {
		return false
	}
	of := p.HeadLogOf(c)
	return p.mayEnd(&of, e.Blocks, e.Next)
}

// ListWaiting lists a channel in State.Due if its log waits.
func (p *State) ListWaiting(ci uint32, c *Channel) {
	if e := p.EndingOf(ci); !e.Listed && p.LogWaits(c, *e) {
		e.Listed = true
		p.Due.Push(e.Next, ci)
	}
}

// Told returns the time that answers and deltas state for a message: its own, or that of its
// block's last message once the channel lets its log end there. final reports the latter. It is a
// function of the channel's messages, as a delta is of its stamp.
func (p *State) Told(c *Channel, e *history.Entry) (at int64, final bool) {
	of := p.HeadLogOf(c)
	if e.Trimmed || !p.mayBeOld(e, &of) {
		return e.Time, e.Trimmed
	}
	block := history.BlockOf(e.Seq - of.seed)
	if last := p.EntryAt(c, of.seed+(block+1)*history.BlockLen); p.mayEnd(&of, block, last.LogTime) {
		return last.Time, true
	}
	return e.Time, false
}

// mayBeOld reports whether the block of a message may be one that mayEnd accepts.
func (p *State) mayBeOld(e *history.Entry, of *HeadLog) bool {
	return e.Seq > of.seed && p.mayEnd(of, history.BlockOf(e.Seq-of.seed), e.LogTime)
}

// ToldAt is Told for the message with this seq.
func (p *State) ToldAt(c *Channel, seq uint32) int64 {
	e := p.EntryAt(c, seq)
	at, _ := p.Told(c, &e)
	return at
}

// ToldIn is Told for message n of a log, which is in this full block. It reads nothing else, so it
// needs no lock.
func (p *State) ToldIn(block []byte, n uint32, e *history.Entry, of *HeadLog) (int64, error) {
	if e.Trimmed || !p.mayBeOld(e, of) {
		return e.Time, nil
	}
	number := history.BlockOf(n)
	end := (number + 1) * history.BlockLen
	var last history.Entry
	if err := history.BlockEntry(block, end, of.seed+end, &last); err != nil {
		return 0, err
	}
	if p.mayEnd(of, number, last.LogTime) {
		return last.Time, nil
	}
	return e.Time, nil
}

// IsDue reports whether message seq is in a block that is trimmed, or that the next cut trims. It
// changes nothing, so that readers may call it.
func (p *State) IsDue(c *Channel, seq uint32) bool {
	seed := p.SeedOf(c)
	limit, ok := p.ForgottenBefore()
	if !ok || seq <= seed || p.Remembers(c.FirstTime, c.LogTime) {
		return false
	}
	block := history.BlockOf(seq - seed)
	if block >= p.FullBlocks(c) {
		return false
	}
	last := p.EntryAt(c, seed+(block+1)*history.BlockLen)
	of := p.HeadLogOf(c)
	return last.Trimmed || last.LogTime < limit && p.mayEnd(&of, block, last.LogTime)
}
