package random

import (
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
)

// rules has the rules of DrawRule, and the mix in which each applies all the time.
var rules = map[string]func(*rapid.T, *mix){
	"logs that end while another channel goes on": func(t *rapid.T, m *mix) {
		logsThatEnd(t, m)
		m.channels = []string{script.DefaultChannel, "d"}
		m.least = rapid.SampledFrom([]int{60, 90}).Draw(t, "records at least in all")
		m.longest = []int{m.least}
	},
	"seeded channels": func(t *rapid.T, m *mix) {
		m.seeded = rapid.SampledFrom([]int{1, 2, 5, 15, 16, 17, 33}).Draw(t, "messages seeded")
		m.messageKinds = append(m.messageKinds, events.KindMessagesSeeded, events.KindMessagesPurged, events.KindMessageDeleted)
	},
	"expired ids": func(t *rapid.T, m *mix) {
		m.retained = rapid.SampledFrom([]int64{second, minute, hour}).Draw(t, "index retention")
		m.steps = []int64{0, second, minute, hour, 2 * hour}
	},
	"logs that end": logsThatEnd,
	"open time targets": func(_ *rapid.T, m *mix) {
		m.timely = true
		for range 20 {
			m.readKinds = append(m.readKinds, events.KindReadUpTo)
		}
	},
	"followed threads": func(_ *rapid.T, m *mix) {
		m.threads = 2
		for range 8 {
			m.readKinds = append(m.readKinds, events.KindThreadFollowed, events.KindThreadUnfollowed)
			m.messageKinds = append(m.messageKinds, events.KindMessageDeleted)
		}
	},
	"reads with threads": func(t *rapid.T, m *mix) {
		m.channels, m.users, m.threads, m.repeats, m.seeded = m.channels[:1], m.users[:2], 2, 5, 0
		m.ids = rapid.SampledFrom([]int{5, 8, 12}).Draw(t, "ids")
		m.parts = map[Part]bool{WithThreads: true, HiddenFrom: oneIn(t, 3, "hidden from")}
		m.readKinds = kinds(t, map[events.Kind]int{
			events.KindReadUpTo: 8, events.KindMarkedUnread: 6, events.KindMessagesRead: 3, events.KindThreadFollowed: 2, events.KindThreadUnfollowed: 1,
			events.KindUserErased: 1,
		}, events.KindReadUpTo)
		m.messageKinds = kinds(t, map[events.Kind]int{
			events.KindMessagePosted: 12, events.KindMessageDeleted: 3, events.KindMembersLeft: 1,
		}, events.KindMessagePosted)
	},
	"what is said and forgotten": func(t *rapid.T, m *mix) {
		m.channels, m.users, m.longest = m.channels[:1], m.users[:2], []int{20, 45}
		m.readKinds = kinds(t, map[events.Kind]int{
			events.KindReadUpTo: 4, events.KindMessagesRead: 2, events.KindMarkedUnread: 2, events.KindUserErased: 3,
		}, events.KindUserErased)
		m.messageKinds = kinds(t, map[events.Kind]int{
			events.KindMessagePosted: 12, events.KindMessageDeleted: 2, events.KindMessagesPurged: 2,
			events.KindMembersJoined: 6, events.KindMembersLeft: 6, events.KindChannelDeleted: 1,
		}, events.KindMessagePosted)
		m.add(t, Folded())
	},
	"deliveries": func(_ *rapid.T, m *mix) { m.carried = true },
}

// Rules returns the names that DrawRule accepts, always in the same order.
func Rules() []string { return slices.Sorted(maps.Keys(rules)) }

// DrawRule draws cases in which one rule of the fold applies all the time.
func DrawRule(rule string) func(*rapid.T) *Case {
	return func(t *rapid.T) *Case {
		m := drawMix(t)
		rules[rule](t, m)
		c := m.settings(t)
		m.draw(t, c, script.Start)
		c.Settings.TrimLog = m.least > 0 || rapid.Bool().Draw(t, "trim log")
		return c
	}
}

func logsThatEnd(t *rapid.T, m *mix) {
	m.retained = rapid.SampledFrom([]int64{second, hour, 2 * day}).Draw(t, "index retention")
	m.steps = [][]int64{{hour, day}, {day}, {hour, 8 * day}}[rapid.IntRange(0, 2).Draw(t, "tempo")]
	m.least = rapid.SampledFrom([]int{45, 60, 90}).Draw(t, "records at least")
	m.ids, m.near, m.longest = m.least, 20, []int{m.least, 20}
	m.channels, m.seeded, m.repeats = m.channels[:1], min(m.seeded, 5), rapid.SampledFrom([]int{2, 5, 20}).Draw(t, "repeats")
	m.threads = rapid.SampledFrom([]int{12, 4, 2}).Draw(t, "one in a thread of")
	m.messageKinds = slices.DeleteFunc(m.messageKinds, func(k events.Kind) bool { return k == events.KindChannelDeleted && !oneIn(t, 8, "deletion") })
	for range 10 {
		m.messageKinds = append(m.messageKinds, events.KindMessagePosted, events.KindMessagePosted, events.KindMessagePosted)
		m.messageKinds = append(m.messageKinds, events.KindMessagePosted, events.KindMessagePosted, events.KindMessageDeleted)
	}
	m.add(t, Folded())
	m.carried = true
}
