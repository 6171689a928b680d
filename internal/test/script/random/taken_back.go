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

// DrawRepliesTakenBack draws a case of one thread, most of whose replies disappear again, and users
// who read and hide them one by one, or read them with the channel. Most of it is about one reply
// and one user. So a read of the channel with its threads often finds the reply that it reaches in
// one order of the topics, and not in another.
func DrawRepliesTakenBack(t *rapid.T) *Case {
	m := &mix{users: []string{"a", "b"}, retained: 90 * day}
	c, now, channel := m.settings(t), int64(script.Start), []byte(script.DefaultChannel)
	message := func(e *events.Message) {
		now += second
		e.ChannelID, e.OccurredAt = channel, now
		c.Log.Add(script.Record{Input: events.Messages, Timestamp: now, Message: e})
	}
	post := func(n int, e *events.Message) {
		e.Kind, e.MessageID, e.SenderID = events.KindMessagePosted, m.id(n), m.user(t)
		message(e)
	}
	message(&events.Message{Kind: events.KindMembersJoined, IDs: m.all()})
	post(1, &events.Message{})
	m.ids = 1 + rapid.IntRange(1, 3).Draw(t, "replies")
	for n := 2; n <= m.ids; n++ {
		e := &events.Message{ThreadID: m.id(1)}
		if oneIn(t, 5, "hidden from") {
			e.HiddenFrom = m.some(t, 1)
		}
		post(n, e)
	}
	the, who := m.id(rapid.IntRange(2, m.ids).Draw(t, "the reply")), m.user(t)
	reply := func() []byte {
		if oneIn(t, 3, "another reply") {
			return m.id(rapid.IntRange(2, m.ids).Draw(t, "reply"))
		}
		return the
	}
	for range rapid.IntRange(1, 3).Draw(t, "changes") {
		switch e := (&events.Message{MessageID: reply()}); rapid.IntRange(0, 4).Draw(t, "change") {
		case 4:
			e.Kind, e.IDs = events.KindMessageEdited, m.some(t, 0)
			message(e)
		case 3:
			m.ids++
			post(m.ids, &events.Message{ThreadID: m.id(1)})
		default:
			e.Kind = events.KindMessageDeleted
			message(e)
		}
	}
	for range rapid.IntRange(2, 5).Draw(t, "reads") {
		e := &events.Read{ChannelID: channel, UserID: who, OccurredAt: now, ThreadID: m.id(1)}
		if oneIn(t, 5, "another user") {
			e.UserID = m.user(t)
		}
		switch rapid.IntRange(0, 7).Draw(t, "read") {
		case 7:
			e.Kind, e.MessageID = events.KindMarkedUnread, reply()
		case 6:
			e.Kind = events.KindThreadFollowed
		case 5, 4:
			e.Kind, e.IDs = events.KindMessagesRead, [][]byte{reply()}
		case 3, 2:
			e.Kind, e.IDs, e.ThreadID = events.KindMessagesHidden, [][]byte{reply()}, nil
		default:
			e.Kind, e.Target, e.MessageID, e.WithThreads, e.ThreadID = events.KindReadUpTo, events.TargetMessageID, reply(), true, nil
		}
		c.Log.Add(script.Record{Input: events.Reads, Timestamp: now, Read: e})
	}
	return c
}
