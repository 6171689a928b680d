package synapse

import (
	"github.com/tidemark/tidemark/internal/test/matrix"
)

// do performs an action through the client API, and records it.
func (w *world) do(a act) (id string) {
	w.t.Helper()
	u, ctx := w.users[a.user], w.t.Context()
	var err error
	switch a.kind {
	case joins:
		err = u.Join(ctx, a.room.id)
		a.room.in[a.user] = true
	case leaves:
		err = u.Leave(ctx, a.room.id)
		a.room.in[a.user] = false
	case renames:
		err = u.Rename(ctx, a.room.id, "Name "+u.ID)
	case posts:
		m := matrix.Message{Kind: a.sort, Body: "words", Thread: a.thread, Mentions: a.mentions, Everybody: a.all}
		if a.silent {
			m.Type = "m.notice"
		}
		a.id, err = u.Send(ctx, a.room.id, m)
	case edits:
		a.id, err = u.Send(ctx, a.room.id, matrix.Message{Body: "edited", Edits: a.of, Mentions: a.mentions, Everybody: a.all})
	case reacts:
		a.id, err = u.Send(ctx, a.room.id, matrix.Message{Reacts: a.of, Body: w.emoji()})
	case redacts:
		a.id, err = u.Redact(ctx, a.room.id, a.of)
		w.messages[a.of].gone = true
	case reads:
		sort := matrix.Public
		if a.private {
			sort = matrix.Private
		}
		err = u.Read(ctx, sort, a.room.id, a.of, a.thread)
	case mutes:
		err = u.Mute(ctx, a.rule, a.room.id)
	case enables:
		err = u.Enable(ctx, a.rule, a.room.id, a.enabled)
	case marks:
		err = u.MarkUnread(ctx, a.room.id, a.enabled)
	}
	if err != nil {
		w.t.Fatalf("%+v: %v", a, err)
	}
	if a.id != "" {
		a.room.events = append(a.room.events, a.id)
		m := &message{author: a.user, kind: a.kind, thread: a.thread}
		if a.kind == edits {
			m.edits = a.of
		}
		w.messages[a.id] = m
	}
	w.acts = append(w.acts, a)
	return a.id
}

// emoji returns a new text for a reaction, because a user cannot react twice in the same way.
func (w *world) emoji() string { return string(rune(0x1f300 + len(w.acts)%0x200)) }
