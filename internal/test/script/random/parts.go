package random

import (
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
)

// Part is a group of features of DESIGN §4.7.
type Part string

// Parts.
const (
	Levels      Part = "levels"
	Flags       Part = "flags"
	Filed       Part = "filed"
	Hidden      Part = "hidden"      // by the user themselves
	HiddenFrom  Part = "hidden from" // by the producer
	MarksRead   Part = "marks read"
	Lines       Part = "lines"
	Viewed      Part = "viewed"
	WithThreads Part = "with threads"
	Labels      Part = "labels"
	Updated     Part = "updated" // channels
)

// Parts returns all parts.
func Parts() []Part {
	return []Part{Levels, Flags, Filed, Hidden, HiddenFrom, MarksRead, Lines, Viewed, WithThreads, Labels, Updated}
}

// Folded returns the parts that the fold implements. Add a part here once the fold has it.
func Folded() []Part {
	return []Part{Levels, Flags, Filed, Hidden, HiddenFrom, MarksRead, Lines, Viewed, WithThreads, Labels, Updated}
}

// Admitted returns the parts of Folded that a decoder accepts, for records that are decoded.
func Admitted() (out []Part) {
	channel, user, id := []byte("c"), []byte("u"), []byte("m")
	samples := map[Part]script.Record{
		HiddenFrom:  {Message: &events.Message{Kind: events.KindMessagePosted, MessageID: id, SenderID: user, HiddenFrom: [][]byte{user}}},
		MarksRead:   {Message: &events.Message{Kind: events.KindMessagePosted, MessageID: id, SenderID: user, MarksRead: events.No}},
		Updated:     {Message: &events.Message{Kind: events.KindChannelUpdated}},
		Levels:      {Read: &events.Read{Kind: events.KindNotifySet}},
		Flags:       {Read: &events.Read{Kind: events.KindFlagSet}},
		Filed:       {Read: &events.Read{Kind: events.KindChannelFiled}},
		Hidden:      {Read: &events.Read{Kind: events.KindMessagesHidden, Seq: 1}},
		Lines:       {Read: &events.Read{Kind: events.KindLineSet, Target: events.TargetSeq, Seq: 1}},
		Viewed:      {Read: &events.Read{Kind: events.KindMessagesViewed, IDs: [][]byte{id}}},
		WithThreads: {Read: &events.Read{Kind: events.KindReadUpTo, Target: events.TargetSeq, Seq: 1, WithThreads: true}},
		Labels:      {Read: &events.Read{Kind: events.KindLabelsSet}},
	}
	for _, p := range Folded() {
		r := samples[p]
		if r.Message != nil {
			r.Message.ChannelID = channel
		} else {
			r.Input, r.Read.ChannelID, r.Read.UserID = events.Reads, channel, user
		}
		value, err := r.Value()
		if err != nil {
			panic(err) // the decoder accepts events that this test makes
		}
		var d events.Decoder
		if r.Message != nil {
			err = d.Message(value, script.Start, &events.Message{})
		} else {
			err = d.Read(value, script.Start, &events.Read{})
		}
		switch {
		case err == nil:
			out = append(out, p)
		case events.ReasonOf(err) != events.ReasonNewerVersion:
			panic(err)
		}
	}
	return out
}

// morePost adds the fields of the parts to a post.
func (m *mix) morePost(t *rapid.T, e *events.Message) {
	if m.parts[HiddenFrom] && oneIn(t, 3, "hidden from") {
		e.HiddenFrom = m.some(t, 1) // sometimes the sender too
	}
	if m.parts[MarksRead] && oneIn(t, 3, "marks read stated") {
		e.MarksRead = rapid.SampledFrom([]events.Choice{events.No, events.Yes}).Draw(t, "marks read")
	}
}

// moreRead draws the fields of a read that belongs to a part.
func (m *mix) moreRead(t *rapid.T, e *events.Read) {
	switch e.Kind {
	case events.KindReadUpTo:
		e.WithThreads = m.parts[WithThreads] && len(e.ThreadID) == 0 && oneIn(t, 2, "with threads")
	case events.KindNotifySet:
		e.Level = rapid.SampledFrom([]events.Level{events.LevelAll, events.LevelMentions, events.LevelNone}).Draw(t, "level")
		e.IgnoreAll = rapid.SampledFrom([]events.Choice{events.NotStated, events.NotStated, events.No, events.Yes}).Draw(t, "ignore all")
		if rapid.Bool().Draw(t, "until stated") {
			e.Until = m.time(t)
		}
	case events.KindFlagSet:
		e.Flagged = !oneIn(t, 4, "unflag")
		m.headSeq(t, e)
	case events.KindChannelFiled:
		e.Archived = !oneIn(t, 4, "unfile")
		e.Keep = oneIn(t, 4, "keep")
		m.headSeq(t, e)
	case events.KindMessagesHidden:
		if oneIn(t, 4, "up to seq") {
			e.Seq = m.anySeq(t, 1)
		}
		m.messages(t, e, e.Seq == 0)
	case events.KindMessagesViewed:
		m.messages(t, e, true)
	case events.KindLineSet:
		if e.Target = events.TargetMessageID; rapid.Bool().Draw(t, "line by seq") {
			e.Target, e.Seq = events.TargetSeq, m.anySeq(t, 1)
		} else {
			e.MessageID = m.anyID(t)
		}
	case events.KindLabelsSet:
		e.IDs = m.labels(t)
	}
}

func (m *mix) headSeq(t *rapid.T, e *events.Read) {
	if rapid.Bool().Draw(t, "head stated") {
		e.HeadSeq = m.anySeq(t, 1)
	}
}

// messages adds the ids of a few messages, at least one if need is set.
func (m *mix) messages(t *rapid.T, e *events.Read, need bool) {
	least := 0
	if need {
		least = 1
	}
	for range rapid.IntRange(least, 3).Draw(t, "how many") {
		e.IDs = append(e.IDs, m.anyID(t))
	}
}
