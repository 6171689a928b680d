package chats

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// ZulipChanges is a Zulip server whose database changes with each action.
type ZulipChanges struct {
	Zulip
	written struct {
		log, messages int
		subs          map[[2]int]bool     // active
		flags         map[int]map[int]int // by message and user
		gone          map[int]bool
	}
}

// NewZulipChanges returns a server with the clock now.
func NewZulipChanges(r *rand.Rand, now func() int64) *ZulipChanges {
	z := &ZulipChanges{Zulip: *PlayZulip(r, 0, 0)}
	z.clock = now
	z.written.subs, z.written.flags, z.written.gone = map[[2]int]bool{}, map[int]map[int]int{}, map[int]bool{}
	return z
}

// Begin returns the tables, with the keys that Zulip's have.
func (z *ZulipChanges) Begin() string {
	sql := strings.ReplaceAll(z.SQL(), "id serial,", "id serial PRIMARY KEY,")
	z.diff()
	return sql
}

// Step plays a random action, and returns its transaction.
func (z *ZulipChanges) Step() string {
	user := pick(z.r, z.Users)
	if z.r.IntN(20) == 0 {
		return fmt.Sprintf("UPDATE zerver_subscription SET is_muted = NOT is_muted WHERE recipient_id = %d AND user_profile_id = %d AND active", 11+z.r.IntN(3), user)
	}
	if z.r.IntN(20) == 0 { // a star or a push, which reads nothing
		return fmt.Sprintf("UPDATE zerver_usermessage SET flags = flags # 2 WHERE user_profile_id = %d", user)
	}
	z.step(user)
	return z.diff()
}

// diff returns the statements for all changes since its previous call.
func (z *ZulipChanges) diff() string {
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, format+";\n", args...) }
	w := &z.written
	for _, row := range z.log[w.log:] {
		add("INSERT INTO zerver_realmauditlog (event_type, event_time, modified_user_id, modified_stream_id) VALUES %s", row)
	}
	w.log = len(z.log)
	for _, at := range slices.SortedFunc(maps.Keys(z.subs), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }) {
		active := z.subs[at] >= 0
		was, known := w.subs[at]
		switch {
		case !known:
			add("INSERT INTO zerver_subscription (recipient_id, user_profile_id, active) VALUES (%d, %d, %v)", at[0], at[1], active)
		case was != active:
			add("UPDATE zerver_subscription SET active = %v WHERE recipient_id = %d AND user_profile_id = %d", active, at[0], at[1])
		}
		w.subs[at] = active
	}
	for i, m := range z.messages {
		row := fmt.Sprintf("%d, %d, %d, 'topic', 'words', %s, 1", m.id, m.sender, m.recipient, stampOf(m.at))
		if i >= w.messages {
			add("INSERT INTO zerver_message VALUES (%s)", row)
			w.flags[m.id] = map[int]int{}
		}
		if m.deleted > 0 && !w.gone[m.id] {
			w.gone[m.id] = true
			add("INSERT INTO zerver_archivetransaction VALUES (%d, %s, false)", m.id, stampOf(m.deleted))
			add("INSERT INTO zerver_archivedmessage VALUES (%s, %d)", row, m.id)
			add("DELETE FROM zerver_usermessage WHERE message_id = %d", m.id)
			add("DELETE FROM zerver_message WHERE id = %d", m.id)
		}
		for _, u := range slices.Sorted(maps.Keys(m.flags)) {
			was, known := w.flags[m.id][u]
			switch {
			case !known:
				add("INSERT INTO zerver_usermessage (user_profile_id, message_id, flags) VALUES (%d, %d, %d)", u, m.id, m.flags[u])
			case was != m.flags[u]:
				add("UPDATE zerver_usermessage SET flags = %d WHERE user_profile_id = %d AND message_id = %d", m.flags[u], u, m.id)
			}
			w.flags[m.id][u] = m.flags[u]
		}
	}
	w.messages = len(z.messages)
	return b.String()
}
