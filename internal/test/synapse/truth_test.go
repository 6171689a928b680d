package synapse

import (
	"slices"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/matrix"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/projections"
)

// truth builds the model of the actions. This reference shares nothing with the import and the
// bridge except the meaning of a Matrix event, as docs/import/synapse.md states it.
type truth struct {
	*model.Model
	at       int64
	messages int64 // records
	reads    int64
	seq      map[*room]uint32
	seqOf    map[string]uint32 // the number of messages when an event was sent
	posted   map[string]act
	edits    map[string][]act // of a message, in order
	gone     map[string]bool
	receipts map[place]bool
	rules    map[string]bool // rules that mute, by user, kind and room
}

// place is a user in a room or a thread of it.
type place struct {
	user   string
	room   *room
	thread string // matrix.Main is the room; "" is the room with all its threads
}

func (w *world) truth() *truth {
	t := &truth{
		Model: model.New(projections.DefaultSettings()), at: time.Now().Add(-time.Hour).UnixMilli(), seq: map[*room]uint32{}, seqOf: map[string]uint32{},
		posted: map[string]act{}, edits: map[string][]act{}, gone: map[string]bool{}, receipts: map[place]bool{}, rules: map[string]bool{},
	}
	for _, a := range w.acts {
		if a.kind == reads {
			t.receipts[place{a.user, a.room, a.thread}] = true
		}
	}
	for _, a := range w.acts {
		t.add(a)
	}
	return t
}

func (t *truth) add(a act) {
	switch a.kind {
	case joins:
		t.say(a, &events.Message{Kind: events.KindMembersJoined, IDs: bytesOf(a.user), CountHistory: a.room.direct})
	case leaves:
		t.say(a, &events.Message{Kind: events.KindMembersLeft, IDs: bytesOf(a.user)})
	case posts:
		t.seq[a.room]++
		t.posted[a.id] = a
		m := &events.Message{
			Kind: events.KindMessagePosted, MessageID: []byte(a.id), SenderID: []byte(a.user), ThreadID: []byte(a.thread), Silent: a.silent,
			IDs: bytesOf(a.mentions...), MentionAll: a.all,
		}
		if t.hasReceipt(a) {
			m.MarksRead = events.No // receipts alone read
		}
		t.say(a, m)
	case edits:
		t.edits[a.of] = append(t.edits[a.of], a)
		t.edited(a, a.of)
	case redacts:
		t.gone[a.of] = true
		if of := t.edit(a.of); of != "" {
			t.edited(a, of)
		} else if _, is := t.posted[a.of]; is {
			t.say(a, &events.Message{Kind: events.KindMessageDeleted, MessageID: []byte(a.of)})
		}
	case reads:
		e := &events.Read{Kind: events.KindReadUpTo, Target: events.TargetSeq, Seq: t.seqOf[a.of], Private: a.private, WithThreads: a.thread == ""}
		if a.thread != matrix.Main {
			e.ThreadID = []byte(a.thread)
		}
		if e.Seq > 0 {
			t.read(a, e)
		}
	case mutes, enables:
		t.rules[a.user+a.rule+a.room.id] = a.kind == mutes || a.enabled
		muted := t.rules[a.user+"override"+a.room.id] || t.rules[a.user+"room"+a.room.id]
		t.read(a, &events.Read{Kind: events.KindChannelMuted, Muted: muted})
	}
	if a.id != "" {
		t.seqOf[a.id] = t.seq[a.room]
	}
}

// hasReceipt reports whether the author of a message ever sent a receipt in the scope of the
// message.
func (t *truth) hasReceipt(a act) bool {
	thread := a.thread
	if thread == "" {
		thread = matrix.Main
	}
	return t.receipts[place{a.user, a.room, ""}] || t.receipts[place{a.user, a.room, thread}]
}

// edit returns the message that an event edits.
func (t *truth) edit(id string) string {
	for of, all := range t.edits {
		if slices.ContainsFunc(all, func(a act) bool { return a.id == id }) {
			return of
		}
	}
	return ""
}

// edited restates the mentions of a message: those of its newest edit that was not redacted, or its
// own.
func (t *truth) edited(a act, of string) {
	now := t.posted[of]
	for _, e := range t.edits[of] {
		if !t.gone[e.id] {
			now = e
		}
	}
	t.say(a, &events.Message{Kind: events.KindMessageEdited, MessageID: []byte(of), IDs: bytesOf(now.mentions...), MentionAll: now.all})
}

func (t *truth) say(a act, e *events.Message) {
	t.at++
	e.ChannelID, e.OccurredAt = []byte(a.room.id), t.at
	t.AddMessage(e, t.messages, t.at)
	t.messages++
}

func (t *truth) read(a act, e *events.Read) {
	t.at++
	e.ChannelID, e.UserID, e.OccurredAt = []byte(a.room.id), []byte(a.user), t.at
	t.AddRead(e, t.reads, t.at)
	t.reads++
}

func bytesOf(ids ...string) (b [][]byte) {
	for _, id := range ids {
		b = append(b, []byte(id))
	}
	return b
}
