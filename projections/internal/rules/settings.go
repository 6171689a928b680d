package rules

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// A user's settings of a channel (DESIGN §4.7). Of each kind the last event counts, in the order of
// chat.reads.

// notifySet folds the level of a channel in the user's badge. A level without an until also ends
// one with an until.
func (p *Fold) notifySet(ref uint32, r *state.Row, level events.Level, until int64, ignoreAll events.Choice, instance []byte) state.Outcome {
	was := p.SettingsOf(r)
	is := was
	if until != 0 {
		is.Timed, is.Until = level, until
	} else {
		is.Lasting, is.Timed, is.Until = level, events.LevelAll, 0
	}
	is.IgnoreAll = ignoreAll.Or(was.IgnoreAll)
	out := p.replaceSettings(ref, r, &was, is, instance)
	if is.IgnoreAll != was.IgnoreAll {
		p.followsChanged(r)
	}
	return out
}

// levelOf is the level that channel_muted sets.
func levelOf(muted bool) events.Level {
	if muted {
		return events.LevelNone
	}
	return events.LevelAll
}

// lineSet folds a line. It is stored as the event states it, and waits for no message.
func (p *Fold) lineSet(ref uint32, r *state.Row, m *events.Read) state.Outcome {
	was := p.SettingsOf(r)
	is := was
	is.Line = state.Line{ID: string(m.MessageID), Seq: m.Seq}
	return p.replaceSettings(ref, r, &was, is, m.InstanceID)
}

// labelsSet folds the user's own labels, which are a set.
func (p *Fold) labelsSet(ref uint32, r *state.Row, m *events.Read) state.Outcome {
	was := p.SettingsOf(r)
	is := was
	is.Labels = labelsOf(m.IDs)
	return p.replaceSettings(ref, r, &was, is, m.InstanceID)
}

// replaceSettings replaces a user's settings.
func (p *Fold) replaceSettings(ref uint32, r *state.Row, was *state.UserSettings, is state.UserSettings, instance []byte) state.Outcome {
	if is.Equal(was) {
		return state.OutcomeDuplicate
	}
	p.SetSettings(ref, r, is)
	p.readChanged(ref, instance)
	return state.OutcomeApplied
}

// channelUpdated folds the labels and the archiving of a channel. It changes no delta: the channel
// record has both.
func (p *Fold) channelUpdated(ci uint32, c *state.Channel, m *events.Message) state.Outcome {
	labels := labelsOf(m.IDs)
	x := p.ExtraOf(c)
	if x == nil && len(labels) == 0 && !m.Archived {
		return state.OutcomeDuplicate
	}
	x = p.EnsureExtra(c)
	if slices.Equal(x.Labels, labels) && x.Archived == m.Archived {
		return state.OutcomeDuplicate
	}
	x.Labels, x.Archived = labels, m.Archived
	if was, is := c.Flags&state.ChannelUpdated != 0, len(labels) > 0 || m.Archived; was != is {
		c.Flags ^= state.ChannelUpdated
		if p.Customized--; is {
			p.Customized += 2
		}
	}
	p.listChannel(ci, c, state.OutRecordChanged|state.OutUpdated)
	return state.OutcomeApplied
}

// labelsOf returns a list of labels as a set: ascending, without repetitions.
func labelsOf(ids [][]byte) (labels []string) {
	for _, id := range ids {
		labels = append(labels, string(id))
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}
