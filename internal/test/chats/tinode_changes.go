package chats

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// TinodeChanges is a Tinode server whose database changes with each action.
type TinodeChanges struct {
	Tinode
	written struct {
		posts  map[string]int // by topic
		gone   map[*tinodePost]bool
		subs   map[string]tinodeSub
		hidden int
	}
}

// NewTinodeChanges returns a server with the clock now.
func NewTinodeChanges(r *rand.Rand, now func() int64) *TinodeChanges {
	s := &TinodeChanges{Tinode: *PlayTinode(r, 0, 0)}
	s.clock = now
	s.written.posts, s.written.gone, s.written.subs = map[string]int{}, map[*tinodePost]bool{}, map[string]tinodeSub{}
	return s
}

// Step plays a random action, and returns its transaction.
func (s *TinodeChanges) Step() string {
	topic, user := pick(s.r, s.Topics), pick(s.r, s.Users)
	if sub := s.subs[topic+fmt.Sprint(user)]; sub != nil {
		switch {
		case s.r.IntN(20) == 0:
			return fmt.Sprintf("UPDATE subscriptions SET modewant = CASE WHEN modewant = 'JRWS' THEN 'JRWPS' ELSE 'JRWS' END WHERE topic = '%s' AND userid = %d", topic, user)
		case s.r.IntN(20) == 0: // a delivery, which reads nothing
			return fmt.Sprintf("UPDATE subscriptions SET recvseqid = recvseqid + 1 WHERE topic = '%s' AND userid = %d", topic, user)
		case sub.left > 0 && s.r.IntN(4) == 0: // they come back, and have read everything
			sub.at, sub.left, sub.read = s.tick(), 0, len(s.posts[topic])
		}
	}
	s.step(topic, user)
	return s.diff()
}

// diff returns the statements for all changes since its previous call.
func (s *TinodeChanges) diff() string {
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, format+";\n", args...) }
	w := &s.written
	for _, topic := range s.Topics {
		for i, p := range s.posts[topic] {
			if i >= w.posts[topic] {
				head := "NULL"
				if p.edits {
					head = fmt.Sprintf(`'{"replace": ":%d"}'`, i)
				}
				add(`INSERT INTO messages (createdat, seqid, topic, "from", head, content) VALUES (%s, %d, '%s', %d, %s, '"words"')`, stampOf(p.at), i+1, topic, p.from, head)
				add("UPDATE topics SET seqid = %d WHERE name = '%s'", i+1, topic)
			}
			if p.deleted == 0 || w.gone[p] {
				continue
			}
			w.gone[p] = true
			if p.missing {
				add("DELETE FROM messages WHERE topic = '%s' AND seqid = %d", topic, i+1)
			} else {
				add(`UPDATE messages SET deletedat = %s, "from" = 0, head = NULL, content = NULL WHERE topic = '%s' AND seqid = %d`, stampOf(p.deleted), topic, i+1)
			}
		}
		w.posts[topic] = len(s.posts[topic])
	}
	for _, name := range slices.Sorted(maps.Keys(s.subs)) {
		sub, left := s.subs[name], "NULL"
		if sub.left > 0 {
			left = stampOf(sub.left)
		}
		was, known := w.subs[name]
		switch {
		case !known:
			add("INSERT INTO subscriptions (createdat, updatedat, userid, topic, readseqid, modewant) VALUES (%s, %[1]s, %d, '%s', %d, 'JRWPS')",
				stampOf(sub.at), sub.user, sub.topic, sub.read)
		case was.at != sub.at || was.left != sub.left || was.read != sub.read:
			add("UPDATE subscriptions SET createdat = %s, updatedat = %s, deletedat = %s, readseqid = %d WHERE topic = '%s' AND userid = %d",
				stampOf(sub.at), stampOf(s.now), left, sub.read, sub.topic, sub.user)
		}
		w.subs[name] = *sub
	}
	for _, row := range s.hidden[w.hidden:] {
		add("INSERT INTO dellog (topic, deletedfor, delid, low, hi) VALUES %s", row)
	}
	w.hidden = len(s.hidden)
	return b.String()
}

// Begin returns the tables.
func (s *TinodeChanges) Begin() string { return s.SQL() }
