package state

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// The log ends (DESIGN §5): a cut trims each full block whose messages no event can name any more.
// An event names messages by the log time of its own topic, so a block is due once the log times of
// all three topics have passed it. A delta names messages by the log time at the head of their
// channel, so that has to pass it too. The newest messages stay whatever their age. All of this is
// a function of the position, and a message that was due stays due. Without Settings.TrimLog nothing
// is ever forgotten or trimmed.

// forgetAfter is how much longer than the index a message is remembered, in milliseconds: a week.
// An event for which a message is forgotten cannot tell that it ever existed.
const forgetAfter = 7 * 24 * 3600 * 1000

// Ending is where the trimmed blocks of a channel's log end.
type Ending struct {
	Blocks uint32 // how many blocks are trimmed, from the first one on
	Listed bool   // the channel is in State.Due
	Bound  bool   // Next is at most what it should be
	Next   int64  // log time of the last message of the block after those, if that block is full
}

// Remembers reports whether an event still knows that a message exists. logTime is the message's,
// now the log time of the event's own topic.
func (p *State) Remembers(logTime, now int64) bool {
	return !p.Settings.TrimLog || now-logTime <= p.Settings.IndexRetention+forgetAfter
}

// EndingOf returns the ending of a channel. Only the goroutine that folds may use it.
func (p *State) EndingOf(ci uint32) *Ending {
	for int(ci) >= len(p.Endings) {
		p.Endings = append(p.Endings, Ending{})
	}
	return &p.Endings[ci]
}

// NoteFull notes that message seq filled a block, if that block is the next to be trimmed.
func (p *State) NoteFull(ci uint32, c *Channel, seq uint32) {
	if !p.Settings.TrimLog {
		return
	}
	e := p.EndingOf(ci)
	if n := seq - p.SeedOf(c); n%history.BlockLen == 0 && n/history.BlockLen == e.Blocks+1 {
		e.Next, e.Bound = c.LogTime, false
	}
}

// ChannelTrimmed is a bit of a channel record's flags, which Channel.Flags does not have: the log
// has trimmed blocks.
const ChannelTrimmed = 1 << 6

// EndedAt returns the ending of a channel. The zero Ending means that no block is trimmed.
func (p *State) EndedAt(ci uint32) Ending {
	if int(ci) >= len(p.Endings) {
		return Ending{}
	}
	return p.Endings[ci]
}

// Flag is the ending's bit in a channel record.
func (e *Ending) Flag() uint8 {
	if e.Blocks == 0 {
		return 0
	}
	return ChannelTrimmed
}

// Append encodes the ending in a channel record.
func (e *Ending) Append(b []byte, c *Channel) []byte {
	if e.Blocks == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(e.Blocks))
	return binary.AppendUvarint(b, uint64(e.Next-c.FirstTime))
}

// LoadEnding decodes the result of Append. flags are those of the channel record.
func (p *State) LoadEnding(c *Channel, flags uint8, r *wire.Reader) (e Ending, err error) {
	trimmed := flags&ChannelTrimmed != 0
	if !p.Settings.TrimLog {
		if trimmed {
			err = errors.New("its log has trimmed blocks, but the store was not folded so")
		}
		return e, err
	}
	full := p.FullBlocks(c)
	if e.Next, e.Bound = c.FirstTime, full > 0; trimmed {
		e.Bound = false
		if e.Blocks = r.U32(); e.Blocks == 0 || e.Blocks >= full {
			return e, fmt.Errorf("%d of its %d log blocks are trimmed", e.Blocks, full)
		}
		e.Next += int64(r.Uvarint())
	}
	return e, nil
}

// FullBlocks returns how many blocks of a channel's log are full.
func (p *State) FullBlocks(c *Channel) uint32 { return (c.HeadSeq - p.SeedOf(c)) / history.BlockLen }

// ForgottenBefore returns the log time before which no event of any topic remembers a message; ok
// is false while a topic has no log time, and if nothing is forgotten.
func (p *State) ForgottenBefore() (limit int64, ok bool) {
	limit = min(p.MessageTime, p.ReadTime, p.DeliveryTime)
	return limit - p.Settings.IndexRetention - forgetAfter, limit != MinTime && p.Settings.TrimLog
}

// LastForgotten returns the last log time that an event does not remember, if the log ends.
func (p *State) LastForgotten(now int64) int64 {
	return now - p.Settings.IndexRetention - forgetAfter - 1
}

// HorizonOf returns the horizon of an event of chat.reads: 7 days past it, and no earlier than the
// log times that the event remembers. So no trimmed message is at the horizon of an event.
func (p *State) HorizonOf(lapses, now int64) int64 {
	if p.Settings.TrimLog {
		return max(lapses, p.LastForgotten(now)+1)
	}
	return lapses
}

// ForgetEnding removes what is known about the ending of a deleted channel.
func (p *State) ForgetEnding(ci uint32) {
	if int(ci) < len(p.Endings) {
		p.Endings[ci] = Ending{}
	}
}
