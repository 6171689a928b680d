package random

import (
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
)

// DrawTakenBack draws a short case in which most events are undone again. Users mostly follow two
// threads and leave them, reply, mention each other and have messages queued, while messages,
// threads and channels disappear. So a record often has an effect in one order of the topics and
// none in another, and few later events hide the difference.
func DrawTakenBack(t *rapid.T) *Case { return drawTakenBack(t, nil) }

// DrawTakenBackMore draws a case of DrawTakenBack that also has some parts.
func DrawTakenBackMore(parts ...Part) func(*rapid.T) *Case {
	return func(t *rapid.T) *Case { return drawTakenBack(t, parts) }
}

func drawTakenBack(t *rapid.T, parts []Part) *Case {
	m := &mix{
		channels: []string{script.DefaultChannel},
		users:    []string{"a", "b"},
		ids:      rapid.SampledFrom([]int{3, 5}).Draw(t, "ids"),
		retained: 90 * day,
		repeats:  5,
		threads:  2,
		longest:  []int{5, 5, 9},
		steps:    rapid.SampledFrom([][]int64{{0, second}, {0, second, 8 * day}}).Draw(t, "tempo"),
	}
	c := m.settings(t)
	m.messageKinds = kinds(t, map[events.Kind]int{
		events.KindMessagePosted: 10, events.KindMessageEdited: 3, events.KindMessageDeleted: 5, events.KindMessagesPurged: 3,
		events.KindMembersJoined: 2, events.KindMembersLeft: 1,
	}, events.KindMessagePosted)
	if oneIn(t, 4, "with deletion of the channel") {
		m.messageKinds = append(m.messageKinds, events.KindChannelDeleted, events.KindChannelDeleted)
	}
	m.readKinds = kinds(t, map[events.Kind]int{
		events.KindReadUpTo: 3, events.KindMessagesRead: 4, events.KindMarkedUnread: 1, events.KindChannelMuted: 1,
		events.KindThreadFollowed: 4, events.KindThreadUnfollowed: 1, events.KindUserErased: 1,
	}, events.KindThreadFollowed)
	m.add(t, parts)
	m.draw(t, c, script.Start)
	return c
}
