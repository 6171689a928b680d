package chats

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ZulipTables are the tables and columns of Zulip that an import or a bridge reads.
const ZulipTables = `
CREATE TABLE zerver_recipient (id int PRIMARY KEY, type_id int NOT NULL, type smallint NOT NULL);
CREATE TABLE zerver_stream (id int PRIMARY KEY, recipient_id int, deactivated boolean NOT NULL DEFAULT false, date_created timestamptz NOT NULL);
CREATE TABLE zerver_userprofile (id int PRIMARY KEY, long_term_idle boolean NOT NULL DEFAULT false, last_active_message_id int);
CREATE TABLE zerver_subscription (id serial PRIMARY KEY, recipient_id int, user_profile_id int, active boolean NOT NULL, is_muted boolean NOT NULL DEFAULT false);
CREATE TABLE zerver_realmauditlog (id serial PRIMARY KEY, event_type smallint NOT NULL, event_time timestamptz NOT NULL, modified_user_id int, modified_stream_id int,
	event_last_message_id int);
CREATE TABLE zerver_message (id int PRIMARY KEY, sender_id int, recipient_id int, subject text, content text, date_sent timestamptz NOT NULL, type smallint);
CREATE TABLE zerver_usermessage (id serial PRIMARY KEY, user_profile_id int, message_id int, flags bigint NOT NULL);
CREATE TABLE zerver_archivetransaction (id int PRIMARY KEY, timestamp timestamptz NOT NULL, restored boolean NOT NULL);
CREATE TABLE zerver_archivedmessage (id int PRIMARY KEY, sender_id int, recipient_id int, subject text, content text, date_sent timestamptz NOT NULL, type smallint,
	archive_transaction_id int);
`

// Zulip is a Zulip server whose users do random things. The users are 1 to 4, the streams are 11
// and 12, the group is 13, and there are conversations of two.
type Zulip struct {
	r     *rand.Rand
	now   int64        // Unix milliseconds
	clock func() int64 // nil: random times after now

	Users    []int
	Channels []string
	subs     map[[2]int]int // first message of a membership, by recipient and user; -1: left
	log      []string
	messages []*zulipMessage
}

type zulipMessage struct {
	id, sender, to, recipient int // to is the receiver of a conversation of two
	channel                   string
	at                        int64
	flags                     map[int]int // by user
	deleted                   int64
}

// PlayZulip plays a number of random actions.
func PlayZulip(r *rand.Rand, begin int64, actions int) *Zulip {
	z := &Zulip{r: r, now: begin, Users: []int{1, 2, 3, 4}, Channels: []string{"11", "12", "13", "dm-1-2", "dm-3-3"}, subs: map[[2]int]int{}}
	for _, u := range z.Users {
		z.subs[[2]int{13, u}] = 0
	}
	for range actions {
		z.step(pick(r, z.Users))
	}
	return z
}

func (z *Zulip) tick() int64 {
	if z.clock != nil {
		z.now = z.clock()
		return z.now
	}
	z.now += 1 + z.r.Int64N(2*hour)
	return z.now
}

func (z *Zulip) step(user int) {
	recipient := 11 + z.r.IntN(3)
	first, known := z.subs[[2]int{recipient, user}]
	what := z.r.IntN(14)
	if recipient < 13 && (!known || first < 0) {
		z.subs[[2]int{recipient, user}] = len(z.messages)
		z.moved(recipient, user, 301+len(z.log)%2)
		return
	}
	switch {
	case what < 6:
		z.send(recipient, user)
	case what == 6:
		z.pair(1, 2)
	case what == 7:
		z.pair(2, 1)
	case what == 8:
		z.pair(3, 3)
	case what < 12:
		for _, m := range z.messages {
			if _, has := m.flags[user]; has && z.r.IntN(3) == 0 {
				m.flags[user] |= 1
			}
		}
	case what == 12:
		for _, m := range z.messages[first:] {
			if _, has := m.flags[user]; has && m.recipient == recipient && m.sender != user && z.r.IntN(4) == 0 {
				m.flags[user] &^= 1
			}
		}
	case z.r.IntN(2) == 0:
		if len(z.messages) > 0 {
			if m := pick(z.r, z.messages); m.deleted == 0 {
				m.deleted, m.flags = z.tick(), nil
			}
		}
	case recipient < 13:
		z.moved(recipient, user, 303)
		z.subs[[2]int{recipient, user}] = -1
		for _, m := range z.messages {
			if _, has := m.flags[user]; has && m.recipient == recipient {
				m.flags[user] |= 1 // leaving a stream reads it
			}
		}
	}
}

func (z *Zulip) moved(recipient, user, kind int) {
	z.log = append(z.log, fmt.Sprintf("(%d, %s, %d, %d)", kind, stampOf(z.tick()), user, recipient-10))
}

func (z *Zulip) add(m *zulipMessage) *zulipMessage {
	m.id, m.at, m.flags = len(z.messages)+1, z.tick(), map[int]int{}
	z.messages = append(z.messages, m)
	return m
}

func (z *Zulip) send(recipient, user int) {
	m := z.add(&zulipMessage{sender: user, recipient: recipient, channel: fmt.Sprint(recipient)})
	everybody := z.r.IntN(8) == 0
	for _, u := range z.Users {
		if first, known := z.subs[[2]int{recipient, u}]; !known || first < 0 {
			continue
		}
		switch {
		case u == user:
			m.flags[u] = 1
		case everybody:
			m.flags[u] = 16
		default:
			m.flags[u] = pick(z.r, []int{0, 0, 0, 8, 32, 64})
		}
	}
}

// pair posts a message between two users, or of one user to themselves.
func (z *Zulip) pair(from, to int) {
	m := z.add(&zulipMessage{sender: from, to: to, recipient: 20 + to, channel: fmt.Sprintf("dm-%d-%d", min(from, to), max(from, to))})
	m.flags[to], m.flags[from] = 2048, 2049
}

// Want returns what a user must have in a channel.
func (z *Zulip) Want(user int, channel string) (w Want) {
	if first, known := z.subs[[2]int{atoi(channel), user}]; known && first >= 0 {
		w.Member = true
	}
	for _, m := range z.messages {
		if m.to != 0 && m.channel == channel && m.deleted == 0 && (m.sender == user || m.to == user) {
			w.Member = true
		}
		if flags, has := m.flags[user]; has && m.channel == channel && flags&1 == 0 && w.Member {
			w.Unread++
			if flags&(8|16|32|64) != 0 {
				w.Mentions++
			}
		}
	}
	return w
}

// SQL returns statements that make the tables with their rows.
func (z *Zulip) SQL() string {
	rows := map[string][]string{"zerver_realmauditlog (event_type, event_time, modified_user_id, modified_stream_id)": z.log}
	add := func(table, format string, args ...any) {
		rows[table] = append(rows[table], fmt.Sprintf("("+format+")", args...))
	}
	for _, u := range z.Users {
		add("zerver_userprofile", "%d, false, NULL", u)
		add("zerver_recipient", "%d, %d, 1", 20+u, u)
	}
	for _, id := range []int{11, 12} {
		add("zerver_recipient", "%d, %d, 2", id, id-10)
		add("zerver_stream", "%d, %d, false, %s", id-10, id, stampOf(1))
	}
	add("zerver_recipient", "13, 1, 3")
	for _, at := range slices.SortedFunc(maps.Keys(z.subs), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }) {
		add("zerver_subscription (recipient_id, user_profile_id, active)", "%d, %d, %v", at[0], at[1], z.subs[at] >= 0)
	}
	for _, m := range z.messages {
		row := fmt.Sprintf("%d, %d, %d, 'topic', 'words', %s, 1", m.id, m.sender, m.recipient, stampOf(m.at))
		if m.deleted > 0 {
			add("zerver_archivetransaction", "%d, %s, false", m.id, stampOf(m.deleted))
			add("zerver_archivedmessage", "%s, %d", row, m.id)
			continue
		}
		add("zerver_message", "%s", row)
		for _, u := range slices.Sorted(maps.Keys(m.flags)) {
			add("zerver_usermessage (user_profile_id, message_id, flags)", "%d, %d, %d", u, m.id, m.flags[u])
		}
	}
	return ZulipTables + insertsInto(rows)
}

func insertsInto(rows map[string][]string) string {
	var b strings.Builder
	for _, table := range slices.Sorted(maps.Keys(rows)) {
		if len(rows[table]) > 0 {
			fmt.Fprintf(&b, "INSERT INTO %s VALUES %s;\n", table, strings.Join(rows[table], ",\n"))
		}
	}
	return b.String()
}

// atoi returns the number in a text, 0 if there is none.
func atoi(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// stampOf returns a time as a literal.
func stampOf(millis int64) string {
	return "'" + time.UnixMilli(millis).UTC().Format("2006-01-02 15:04:05.000Z07") + "'"
}
