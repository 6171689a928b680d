package model

import (
	"math"
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// settings has a user's settings of a channel (DESIGN §4.7). The last event of each kind holds.
type settings struct {
	lasting   events.Level // without an until
	timed     events.Level // with one
	until     int64        // 0: none
	ignoreAll bool
	flag      *readRecord // nil: not flagged
	filed     *readRecord // nil: not filed
	hidden    map[uint32]bool
	hiddenTo  uint32 // everything up to here
	line      projections.Ref
	labels    []string // sorted
}

// settingsOf replays a user's settings of a channel in order, over the finished timeline. flagged
// and filed decide whether the timeline has ended a flag or a filing.
func (m *Model) settingsOf(user, channelID string) *settings {
	s := &settings{hidden: map[uint32]bool{}}
	r := &reader{timeline: m.timeline(), channel: m.timeline().channels[channelID]}
	for i := range m.reads {
		rec := &m.reads[i]
		e := &rec.event
		if string(e.UserID) != user || string(e.ChannelID) != channelID {
			continue
		}
		switch e.Kind {
		case events.KindUserErased:
			*s = settings{hidden: map[uint32]bool{}}
			r.channelMarks = 0
		case events.KindChannelMuted:
			s.lasting, s.until = events.LevelAll, 0
			if e.Muted {
				s.lasting = events.LevelNone
			}
		case events.KindNotifySet:
			s.notify(e)
		case events.KindFlagSet:
			s.flag = nil
			if e.Flagged {
				s.flag = rec
			}
		case events.KindReadUpTo, events.KindMessagesRead:
			if len(e.ThreadID) == 0 && !r.staleInChannel(e) {
				s.flag = nil
			}
		case events.KindChannelFiled:
			s.filed = nil
			if e.Archived {
				s.filed = rec
			}
		case events.KindMessagesHidden:
			s.hiddenTo = max(s.hiddenTo, e.Seq)
			for _, id := range e.IDs {
				if p := r.find(rec, id); p != nil {
					s.hidden[p.seq] = true
				}
			}
		case events.KindLineSet:
			s.line = projections.Ref{MessageID: string(e.MessageID), Seq: e.Seq}
		case events.KindLabelsSet:
			s.labels = distinct(e.IDs)
		}
		if len(e.ThreadID) == 0 {
			r.countMark(e)
		}
	}
	return s
}

// notify sets a level. One without until ends one with until; one with until hides it until then.
func (s *settings) notify(e *events.Read) {
	if e.Until != 0 {
		s.timed, s.until = e.Level, e.Until
	} else {
		s.lasting, s.until = e.Level, 0
	}
	s.ignoreAll = e.IgnoreAll.Or(s.ignoreAll)
}

// level returns the level as it was set, whether until has passed or not.
func (s *settings) level() events.Level {
	if s.until != 0 {
		return s.timed
	}
	return s.lasting
}

// hides reports whether the user hid a message.
func (s *settings) hides(seq uint32) bool { return seq <= s.hiddenTo || s.hidden[seq] }

// mentions reports whether a message is a mention for the user, by name or of all.
func (s *settings) mentions(p *post, user string) bool {
	return p.mentionsUser(user) || (p.all && !s.ignoreAll)
}

// later reports whether a post is later than the record: above the head that it states, or later in
// time if it states none. Once the record has expired every new post is later.
func (rec *readRecord) later(p *post) bool {
	if rec.event.HeadSeq != 0 {
		return p.seq > rec.event.HeadSeq
	}
	return p.time > rec.event.OccurredAt || p.logTime > rec.lastsUntil
}

// flagged reports whether the user's flag is still set. A later post of their own that reads the
// channel removes it.
func (p *pair) flagged() bool {
	flag := p.settings.flag
	return flag != nil && !slices.ContainsFunc(p.own, func(o *post) bool {
		if p.timeline.settings.TrimLog && flag.event.HeadSeq == 0 {
			return o.time > flag.event.OccurredAt // however late it was posted
		}
		return flag.later(o)
	})
}

// filed returns whether the user filed the channel, and up to which position of its head it stays
// filed. A later counted message of others that exists for the user ends the filing, even if it is
// deleted afterwards.
func (p *pair) filed() events.Filed {
	rec := p.settings.filed
	if rec == nil {
		return events.Filed{}
	}
	f := events.Filed{Is: true, Keep: rec.event.Keep, Pos: p.channel.pos(p.channel.head())}
	last := p.lastBefore(rec)
	for _, x := range p.channel.posts {
		if x.counted() && x.sender != p.user && !x.hiddenTo(p.user) && x.seq > last {
			f.Pos = p.channel.pos(x.seq) - 1
			return f
		}
	}
	if p.channel.large && !rec.decided(p.channel) {
		f.Pos = math.MaxUint32
	}
	return f
}

// lastBefore returns the last message that is not later than a filing; before it is decided, the
// head.
func (p *pair) lastBefore(rec *readRecord) uint32 {
	switch {
	case rec.event.HeadSeq != 0:
		return rec.event.HeadSeq
	case !rec.decided(p.channel):
		return p.channel.head()
	}
	return p.timeline.upTo(p.channel, p.seen(rec), rec.event.OccurredAt, rec.now)
}

// decided reports whether every new post is later than the record. In a large channel no position
// of the head ends a filing before that, because messages of others move the head without a delta.
func (rec *readRecord) decided(c *channel) bool {
	if rec.event.HeadSeq != 0 {
		return c.head() >= rec.event.HeadSeq
	}
	return slices.ContainsFunc(c.posts, rec.later)
}

// LevelAt returns the level at a time.
func LevelAt(v *projections.View, now int64) events.Level {
	if v.Until != 0 && now >= v.Until {
		return v.LevelAfter
	}
	return v.Level
}
