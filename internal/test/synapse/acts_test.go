package synapse

import (
	"slices"

	"github.com/tidemark/tidemark/internal/test/matrix"
)

// do performs an action through the client API, and records it.
func (w *world) do(a act) (id string) {
	w.t.Helper()
	if w.forgets(&a) {
		return ""
	}
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
		m := &message{author: a.user, kind: a.kind, thread: a.thread, mentions: a.mentions}
		if a.kind == edits {
			m.edits = a.of
		}
		w.messages[a.id] = m
	}
	w.acts = append(w.acts, a)
	return a.id
}

// forgets reports whether an import cannot learn whom a version of a reply mentioned, because the
// action replaces or redacts it. It reads the newest version only. So the users do this only once
// the bridge follows them; meanwhile an edit keeps the mentions.
func (w *world) forgets(a *act) bool {
	if w.followed {
		return false
	}
	switch of := w.messages[a.of]; {
	case a.kind == edits && of.thread != "":
		a.mentions, of.mentions = union(a.mentions, of.mentions), union(a.mentions, of.mentions)
	case a.kind == redacts && of.kind == edits:
		return w.messages[of.edits].thread != ""
	}
	return false
}

// union returns what is in at least one of two lists.
func union(a, b []string) []string {
	all := slices.Sorted(slices.Values(append(slices.Clone(a), b...)))
	return slices.Compact(all)
}

// emoji returns a new text for a reaction, because a user cannot react twice in the same way.
func (w *world) emoji() string { return string(rune(0x1f300 + len(w.acts)%0x200)) }
