package chats

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// TableTables are the tables of docs/import/table.yml.
const TableTables = `
CREATE TABLE rooms (id bigint PRIMARY KEY, kind text NOT NULL);
CREATE TABLE room_members (room_id bigint, user_id bigint, joined_at timestamptz, left_at timestamptz, last_read_message_id bigint,
	read_at timestamptz, muted_at timestamptz, unread_count int, mention_count int, PRIMARY KEY (room_id, user_id));
CREATE TABLE messages (id bigint PRIMARY KEY, room_id bigint, author_id bigint, parent_id bigint, created_at timestamptz, body text, kind text,
	deleted_at timestamptz, mentioned bigint[], mentions_room boolean NOT NULL DEFAULT false);
CREATE TABLE thread_members (message_id bigint, user_id bigint, followed_at timestamptz, last_read_message_id bigint, read_at timestamptz, unread_count int,
	PRIMARY KEY (message_id, user_id));
`

// Table is a chat that a team has written itself. Each of its actions returns the transactions that
// it runs, in order.
type Table struct {
	Now func() int64 // Unix milliseconds; it must grow with each call

	members map[[2]int]bool // by room and user; false: left
	posts   map[int][]int   // by room
	thread  map[int]int     // root of each reply
	author  map[int]int
	gone    map[int]bool
	last    int
}

// Begin returns the tables, with users and rooms that count from 1. The last room is a direct one
// of the first two users.
func (t *Table) Begin(users, rooms int) []string {
	t.members, t.posts, t.thread, t.author, t.gone, t.last = map[[2]int]bool{}, map[int][]int{}, map[int]int{}, map[int]int{}, map[int]bool{}, 100
	all := []string{TableTables}
	for room := 1; room <= rooms; room++ {
		kind, in := "room", users
		if room == rooms {
			kind, in = "dm", 2
		}
		all = append(all, fmt.Sprintf("INSERT INTO rooms VALUES (%d, '%s')", room, kind))
		for user := 1; user <= in; user++ {
			all = append(all, t.join(room, user))
		}
	}
	return all
}

// now returns the time as a literal.
func (t *Table) now() string {
	return "'" + time.UnixMilli(t.Now()).UTC().Format("2006-01-02 15:04:05.000Z07:00") + "'"
}

func (t *Table) join(room, user int) string {
	t.members[[2]int{room, user}] = true
	return fmt.Sprintf(`INSERT INTO room_members VALUES (%d, %d, %s, NULL, NULL, NULL, NULL, 0, 0)
		ON CONFLICT (room_id, user_id) DO UPDATE SET joined_at = excluded.joined_at, left_at = NULL, last_read_message_id = NULL, read_at = NULL`, room, user, t.now())
}

// Post posts a message, or a reply if parent is not 0.
func (t *Table) Post(room, user, parent int, mentioned int) string {
	t.last++
	id, to, for_ := t.last, "NULL", "NULL"
	if parent != 0 {
		to, t.thread[id] = strconv.Itoa(parent), parent
	}
	if mentioned != 0 {
		for_ = fmt.Sprintf("'{%d}'", mentioned)
	}
	t.posts[room], t.author[id] = append(t.posts[room], id), user
	return fmt.Sprintf("INSERT INTO messages VALUES (%d, %d, %d, %s, %s, 'words', 'text', NULL, %s, false)", id, room, user, to, t.now(), for_)
}

// Step plays a random action.
func (t *Table) Step(r *rand.Rand, users, rooms int) []string {
	room, user := 1+r.IntN(rooms), 1+r.IntN(users)
	in, was := t.members[[2]int{room, user}]
	if !was {
		return nil // the user is no member of the direct room
	}
	if !in {
		return []string{t.join(room, user)}
	}
	posts, some := t.posts[room], 0
	what := r.IntN(20)
	if len(posts) == 0 {
		what = 0
	} else {
		some = posts[r.IntN(len(posts))]
	}
	switch {
	case what < 8:
		parent, mentioned := 0, 0
		if some != 0 && t.thread[some] == 0 && r.IntN(3) == 0 {
			parent = some
		}
		if u := 1 + r.IntN(users); u != user && r.IntN(3) == 0 {
			mentioned = u
		}
		all := []string{t.Post(room, user, parent, mentioned)}
		if r.IntN(2) == 0 { // some clients read what they send
			all = append(all, t.read(room, user, t.last))
		}
		return all
	case what < 12:
		return []string{t.read(room, user, posts[len(posts)-1])}
	case what < 13:
		return []string{t.read(room, user, some)}
	case what < 14 && !t.gone[some]:
		t.gone[some] = true
		return []string{fmt.Sprintf("UPDATE messages SET deleted_at = %s WHERE id = %d", t.now(), some)}
	case what < 15:
		to := "NULL"
		// A reply gets no new mention: whom it makes follow would depend on its time.
		if u := 1 + r.IntN(users); u != t.author[some] && t.thread[some] == 0 {
			to = fmt.Sprintf("'{%d}'", u)
		}
		if t.gone[some] {
			return nil
		}
		return []string{fmt.Sprintf("UPDATE messages SET body = 'edited', mentioned = %s WHERE id = %d", to, some)}
	case what < 16:
		t.members[[2]int{room, user}] = room == 1 && user == 1 // the first user stays
		if t.members[[2]int{room, user}] {
			return nil
		}
		return []string{fmt.Sprintf("UPDATE room_members SET left_at = %s WHERE room_id = %d AND user_id = %d", t.now(), room, user)}
	case what < 17:
		to := "NULL"
		if r.IntN(2) == 0 {
			to = t.now()
		}
		return []string{fmt.Sprintf("UPDATE room_members SET muted_at = %s WHERE room_id = %d AND user_id = %d", to, room, user)}
	case what < 18:
		return []string{fmt.Sprintf("UPDATE room_members SET unread_count = unread_count + 1 WHERE room_id = %d", room)}
	}
	if t.thread[some] != 0 {
		some = t.thread[some]
	}
	read := "NULL"
	for _, id := range posts {
		if t.thread[id] == some && r.IntN(2) == 0 {
			read = strconv.Itoa(id)
		}
	}
	return []string{fmt.Sprintf(`INSERT INTO thread_members VALUES (%d, %d, %s, %s, %[3]s, 0)
		ON CONFLICT (message_id, user_id) DO UPDATE SET last_read_message_id = excluded.last_read_message_id, read_at = excluded.read_at`, some, user, t.now(), read)}
}

func (t *Table) read(room, user, id int) string {
	return fmt.Sprintf("UPDATE room_members SET last_read_message_id = %d, read_at = %s WHERE room_id = %d AND user_id = %d", id, t.now(), room, user)
}

// Names returns the rooms, and the messages that can be roots of threads.
func (t *Table) Names() (rooms, roots []string) {
	for room, posts := range t.posts {
		rooms = append(rooms, strconv.Itoa(room))
		for _, id := range posts {
			if t.thread[id] == 0 {
				roots = append(roots, strconv.Itoa(id))
			}
		}
	}
	return rooms, roots
}
