package pending

import (
	"math"
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Flagged reports whether the user's flag on the channel still holds: they have posted nothing
// later that reads the channel.
func (p *Fold) Flagged(c *state.Channel, r *state.Row, settings *state.UserSettings) bool {
	if settings == nil || !settings.Flag.Is {
		return false
	}
	own, at := p.NewestRead(r)
	return p.Erased(r) || own == 0 || !p.later(c, &settings.Flag, own, at)
}

// later reports whether the post with this seq and time is later than s. Once s has lapsed, every
// further post is later, unless the log ends: then it may not have kept the post's log time.
func (p *Fold) later(c *state.Channel, s *state.Since, seq uint32, time int64) bool {
	if s.HeadSeq != 0 {
		return seq > s.HeadSeq
	}
	return time > s.At || (!s.Ends && !p.Visible(c, seq, s.Horizon))
}

// Filed returns a delta's fields about the filing of a channel.
func (p *Fold) Filed(c *state.Channel, r *state.Row, settings *state.UserSettings) events.Filed {
	if settings == nil || !settings.Filed.Is {
		return events.Filed{}
	}
	f := events.Filed{Is: true, Keep: settings.Filed.Keep, Pos: c.HeadPos}
	if news := p.News(c, r, &settings.Filed); news != 0 {
		f.Pos = p.PosAt(c, news) - 1
	} else if c.Flags&state.ChannelLarge != 0 && !settings.Filed.Decided(c) {
		f.Pos = math.MaxUint32
	}
	return f
}

// FiledToHead reports whether the row's user filed a small channel until there is news, and there
// is none. The position in the delta's filing then moves with the head.
func (p *Fold) FiledToHead(c *state.Channel, r *state.Row) bool {
	settings := p.ExtraSettings(r)
	return settings != nil && settings.Filed.Is && !settings.Filed.Keep && c.Flags&state.ChannelLarge == 0 && p.News(c, r, &settings.Filed) == 0
}

// ListQueued lists a row with queued messages in a large channel. Deletions there have to check
// these rows, because messages of others make no delta otherwise.
func (p *Fold) ListQueued(c *state.Channel, ref uint32, r *state.Row) {
	x := p.ExtraOfPair(r)
	if x == nil || x.Queued.Empty() || c.Flags&state.ChannelLarge == 0 {
		return
	}
	if e := p.EnsureExtra(c); !slices.Contains(e.Queuers, ref) {
		e.Queuers = append(e.Queuers, ref)
	}
}
