package synapse

import (
	"slices"

	"github.com/tidemark/tidemark/internal/test/matrix"
)

// step performs a random action in one of the rooms.
func (w *world) step(rooms []*room, users []string) {
	w.t.Helper()
	r, user := pick(w.r, rooms), pick(w.r, users)
	if !r.in[user] {
		w.do(act{kind: joins, room: r, user: user})
		return
	}
	what := w.r.IntN(23)
	text := w.said(r, posts)
	if len(text) == 0 {
		what = 0
	}
	switch {
	case what < 9:
		w.post(r, user)
	case what < 12:
		w.read(r, user)
	case what == 12:
		w.do(act{kind: reacts, room: r, user: user, of: pick(w.r, text)})
	case what < 15:
		w.edit(r, pick(w.r, text))
	case what == 15:
		id := pick(w.r, text)
		w.do(act{kind: redacts, room: r, user: w.messages[id].author, of: id})
	case what == 16:
		if of := w.said(r, edits); len(of) > 0 {
			id := pick(w.r, of)
			w.do(act{kind: redacts, room: r, user: w.messages[id].author, of: id})
		}
	case what == 17:
		if !r.direct {
			w.do(act{kind: leaves, room: r, user: user})
		}
	case what == 18:
		w.do(act{kind: renames, room: r, user: user})
	case what == 19:
		w.mute(r, user)
	case what == 20:
		w.do(act{kind: posts, room: r, user: user, sort: pick(w.r, []string{"m.sticker", "m.poll.start", "m.room.encrypted"})})
	case what == 21:
		w.do(act{kind: marks, room: r, user: user, enabled: w.r.IntN(3) > 0})
	default:
		if m := w.messages[pick(w.r, text)]; r.in[m.author] { // continues a thread
			w.read(r, m.author)
		}
	}
}

// said returns the events of a kind in a room whose authors are still members, so that they can
// redact them.
func (w *world) said(r *room, k kind) (ids []string) {
	for _, id := range r.events {
		if m := w.messages[id]; m.kind == k && !m.gone && r.in[m.author] {
			ids = append(ids, id)
		}
	}
	return ids
}

// post sends a message. Every third one is a reply in a thread.
func (w *world) post(r *room, user string) {
	w.t.Helper()
	a := act{kind: posts, room: r, user: user, silent: w.r.IntN(8) == 0, all: w.r.IntN(16) == 0}
	if text := w.said(r, posts); len(text) > 0 && w.r.IntN(3) == 0 {
		a.thread = pick(w.r, text)
		if root := w.messages[a.thread].thread; root != "" {
			a.thread = root // continues a thread
		}
		if w.messages[a.thread].gone {
			a.thread = ""
		}
	}
	a.mentions = w.mentioned(r, user)
	w.do(a)
}

// mentioned returns a user whom a message mentions, or nobody.
func (w *world) mentioned(r *room, user string) []string {
	if u := pick(w.r, w.names); u != user && r.in[u] && w.r.IntN(3) == 0 {
		return []string{u}
	}
	return nil
}

func (w *world) edit(r *room, id string) {
	w.t.Helper()
	author := w.messages[id].author
	w.do(act{kind: edits, room: r, user: author, of: id, mentions: w.mentioned(r, author)})
}

// read sends a receipt for one of the newest events in one of the forms that clients send: without
// a thread, for the room without its threads, or for a thread. Synapse forgets the thread of a reply
// that was redacted, and refuses a receipt for it there.
func (w *world) read(r *room, user string) {
	w.t.Helper()
	at := max(0, len(r.events)-1-w.r.IntN(10)*w.r.IntN(2))
	a := act{kind: reads, room: r, user: user, of: r.events[at], private: w.r.IntN(3) == 0}
	if m := w.messages[a.of]; m.kind == posts && w.r.IntN(2) == 0 && !m.gone {
		if a.thread = m.thread; a.thread == "" {
			a.thread = matrix.Main
		}
	}
	w.do(a)
}

// mute makes a rule that mutes, or disables or enables it.
func (w *world) mute(r *room, user string) {
	w.t.Helper()
	rule := pick(w.r, []string{"override", "room"})
	name := user + rule + r.id
	if !w.muted[name] {
		w.muted[name] = true
		w.do(act{kind: mutes, room: r, user: user, rule: rule})
		return
	}
	last := slices.IndexFunc(w.acts, func(a act) bool { return a.kind == enables && a.user == user && a.rule == rule && a.room == r })
	w.do(act{kind: enables, room: r, user: user, rule: rule, enabled: last >= 0 && w.r.IntN(2) == 0})
}
