package random

import (
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
)

// kindsOf has the kinds of chat.reads that a part adds, with their weights.
var kindsOf = map[Part]map[events.Kind]int{
	Levels: {events.KindNotifySet: 6, events.KindChannelMuted: 2},
	Flags:  {events.KindFlagSet: 6},
	Filed:  {events.KindChannelFiled: 6},
	Hidden: {events.KindMessagesHidden: 6},
	Lines:  {events.KindLineSet: 3},
	Viewed: {events.KindMessagesViewed: 6},
	Labels: {events.KindLabelsSet: 3},
}

// DrawMore draws a case of Draw that also has some parts of DESIGN §4.7.
func DrawMore(parts ...Part) func(*rapid.T) *Case {
	return func(t *rapid.T) *Case {
		m := drawMix(t)
		m.add(t, parts)
		c := m.settings(t)
		m.draw(t, c, script.Start)
		if oneIn(t, 4, "with gaps") {
			gaps(t, &c.Log)
		}
		c.Settings.TrimLog = rapid.Bool().Draw(t, "trim log")
		return c
	}
}

// add adds parts to a mix. It leaves each part out of one case in three, so that the others meet
// without it.
func (m *mix) add(t *rapid.T, parts []Part) {
	m.parts = map[Part]bool{}
	for _, p := range parts {
		if oneIn(t, 3, "without part") {
			continue
		}
		m.parts[p] = true
		of := kindsOf[p]
		for _, k := range slices.Sorted(maps.Keys(of)) {
			for range of[k] {
				m.readKinds = append(m.readKinds, k)
			}
		}
	}
	if m.parts[Updated] {
		m.messageKinds = append(m.messageKinds, events.KindChannelUpdated, events.KindChannelUpdated)
	}
	if m.parts[WithThreads] {
		m.threads = min(m.threads, 3)
	}
}
