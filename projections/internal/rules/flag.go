package rules

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// A flag marks a channel as unread (DESIGN §4.7). A read of the channel removes it when the read
// arrives, whether or not its message exists. An own post removes it when the flag is evaluated,
// because the post may be folded before the flag or after it.

// sinceOf returns the point in the timeline that a flag compares posts with.
func (p *Fold) sinceOf(m *events.Read, h *held.Event) state.Since {
	if m.HeadSeq != 0 {
		return state.Since{Is: true, HeadSeq: m.HeadSeq}
	}
	s := state.Since{Is: true, At: h.At, Horizon: h.Horizon}
	if p.Settings.TrimLog {
		s.Now, s.Ends = h.Now, true
	}
	return s
}

// flagSet folds a flag. Setting one begins an epoch, so that a read in flight does not remove it.
func (p *Fold) flagSet(ref uint32, c *state.Channel, r *state.Row, m *events.Read, h *held.Event) state.Outcome {
	before := p.Signature(c, r)
	settings := p.SettingsOf(r)
	if settings.Flag = (state.Since{}); m.Flagged {
		settings.Flag = p.sinceOf(m, h)
		p.EnsureRare(r).Marks++
	}
	p.SetSettings(ref, r, settings)
	return p.outcome(ref, c, r, before, state.OutcomeDuplicate, m.InstanceID)
}

// flagOf returns the user's settings if the read removes their flag, and nil otherwise. A read in a
// thread removes none, and neither does a stale read.
func (p *Fold) flagOf(r *state.Row, m *events.Read) *state.UserSettings {
	settings := p.ExtraSettings(r)
	if settings == nil || !settings.Flag.Is || len(m.ThreadID) > 0 || p.EpochEnded(r, m.ReadEpoch) {
		return nil
	}
	return settings
}

// unflag removes the flag of a user who has read the channel, unless the fold refused the read. was
// is the result of flagOf before the read was folded; out is the outcome of the read.
func (p *Fold) unflag(ref uint32, c *state.Channel, m *events.Read, was *state.UserSettings, out state.Outcome) state.Outcome {
	if was == nil || out == state.OutcomeTooManyHeld {
		return out
	}
	r := p.Rows.At(ref)
	stood := p.Flagged(c, r, was)
	settings := *was
	settings.Flag = state.Since{}
	p.SetSettings(ref, r, settings)
	if !stood {
		return out
	}
	p.readChanged(ref, m.InstanceID)
	return state.OutcomeApplied
}
