package state

import (
	"slices"

	"github.com/tidemark/tidemark/events"
)

// UserSettings holds a user's settings of a channel (DESIGN §4.7). The zero value has none.
// RowMuted alone states whether Level is LevelNone; for most users no more is needed.
type UserSettings struct {
	Lasting   events.Level // the level without an until
	Timed     events.Level // the level that applies before Until
	IgnoreAll bool         // mentions of everybody do not count
	Until     int64        // Unix milliseconds; 0 = there is no Timed
	Flag      Since        // the channel is flagged, until a later own post
	Filed     Filed        // the channel is listed apart
	Line      Line
	Labels    []string // ascending
}

// Since separates posts that are later than a user's event from earlier ones: by the head that the
// event states, else by its time. The zero Since means that there is no such event.
type Since struct {
	Is          bool
	HeadSeq     uint32
	At, Horizon int64 // without a HeadSeq; Horizon is the log time at which the event lapses
	Now         int64 // without a HeadSeq, if Ends: the log time of chat.reads at the event
	Ends        bool  // Settings.TrimLog
}

// Line is a place to come back to, as the user set it: by id or by seq. The zero Line means none.
type Line struct {
	ID  string
	Seq uint32
}

// Equal reports whether two settings are equal.
func (s *UserSettings) Equal(o *UserSettings) bool {
	return s.Lasting == o.Lasting && s.Timed == o.Timed && s.IgnoreAll == o.IgnoreAll && s.Until == o.Until && s.Flag == o.Flag && s.Line == o.Line &&
		s.Filed.Same(&o.Filed) && slices.Equal(s.Labels, o.Labels)
}

// Plain reports whether RowMuted alone represents the settings.
func (s *UserSettings) Plain() bool {
	return s.PlainRow() && s.PlainRest()
}

// PlainRow reports whether RowMuted represents all settings that a row record can hold.
func (s *UserSettings) PlainRow() bool { return s.PlainLevel() && !s.Flag.Is && !s.Filed.Is }

// PlainLevel reports whether RowMuted alone represents the level.
func (s *UserSettings) PlainLevel() bool {
	return s.Until == 0 && !s.IgnoreAll && s.Lasting != events.LevelMentions
}

// PlainRest reports whether no setting needs a record of its own.
func (s *UserSettings) PlainRest() bool { return s.Line == (Line{}) && len(s.Labels) == 0 }

// Level returns the level as it was set, whether or not Until has passed: it reads no clock.
func (s *UserSettings) Level() events.Level {
	if s.Until != 0 {
		return s.Timed
	}
	return s.Lasting
}

// After returns the level that applies again after Until, or LevelAll.
func (s *UserSettings) After() events.Level {
	if s.Until != 0 {
		return s.Lasting
	}
	return events.LevelAll
}

// SettingsOf returns the settings of the user of a row in a channel.
func (p *State) SettingsOf(r *Row) UserSettings {
	if x := p.ExtraOfPair(r); x != nil && x.Settings != nil {
		return *x.Settings
	}
	if r.Flags&RowMuted != 0 {
		return UserSettings{Lasting: events.LevelNone}
	}
	return UserSettings{}
}

// ExtraSettings returns the settings of the user of a row beyond RowMuted, or nil.
func (p *State) ExtraSettings(r *Row) *UserSettings {
	if x := p.ExtraOfPair(r); x != nil {
		return x.Settings
	}
	return nil
}

// SetSettings replaces the settings of the user of a row in a channel. Settings that RowMuted
// represents take no further memory.
func (p *State) SetSettings(ref uint32, r *Row, s UserSettings) {
	if r.Flags &^= RowMuted; s.Level() == events.LevelNone {
		r.Flags |= RowMuted
	}
	p.TouchRow(ref, r)
	was := p.ExtraSettings(r)
	rest := was != nil && !was.PlainRest() || !s.PlainRest()
	if s.Plain() {
		if was != nil {
			x := p.ExtraOfPair(r)
			x.Settings, x.SettingsDirty = nil, x.SettingsDirty || rest
			p.TouchPairExtra(ref, r) // the next cut may drop the extra
			p.Customized--
		}
		return
	}
	if was == nil {
		p.Customized++
	}
	x := p.EnsurePairExtra(r)
	if x.Settings = &s; rest {
		x.SettingsDirty = true
		p.TouchPairExtra(ref, r)
	}
}

// LoadSettings returns the settings of the user of a row, for loading a stored record into them.
func (p *State) LoadSettings(r *Row) *UserSettings {
	x := p.EnsurePairExtra(r)
	if x.Settings == nil {
		x.Settings = &UserSettings{}
		if r.Flags&RowMuted != 0 {
			x.Settings.Lasting = events.LevelNone
		}
		p.Customized++
	}
	return x.Settings
}

// IgnoresAll reports whether mentions of everybody do not count for the user of a row in a channel.
func (p *State) IgnoresAll(r *Row) bool {
	s := p.ExtraSettings(r)
	return s != nil && s.IgnoreAll
}

// OnlySettings reports whether an extra has only settings and hidden messages. Those wait for
// nothing.
func (x *PairExtra) OnlySettings() bool {
	settings, hidden := x.Settings, x.Hidden
	x.Settings, x.Hidden = nil, nil
	only := x.Empty()
	x.Settings, x.Hidden = settings, hidden
	return only
}
