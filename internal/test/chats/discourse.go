package chats

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// DiscourseTables are the tables and columns of Discourse's chat that an import or a bridge reads.
const DiscourseTables = `
CREATE TABLE chat_channels (id bigint PRIMARY KEY, chatable_type varchar, threading_enabled boolean NOT NULL, deleted_at timestamp, messages_count int NOT NULL DEFAULT 0);
CREATE TABLE chat_messages (id bigint PRIMARY KEY, chat_channel_id bigint, user_id int, created_at timestamp, deleted_at timestamp, thread_id bigint, message text);
CREATE TABLE chat_threads (id bigint PRIMARY KEY, channel_id bigint, original_message_id bigint);
CREATE TABLE chat_mentions (id bigint PRIMARY KEY, chat_message_id bigint, type varchar, target_id int);
CREATE TABLE user_chat_channel_memberships (id bigint PRIMARY KEY, user_id int, chat_channel_id bigint, last_read_message_id bigint, following boolean, muted boolean,
	created_at timestamp, updated_at timestamp, last_viewed_at timestamp);
CREATE TABLE user_chat_thread_memberships (id bigint PRIMARY KEY, user_id bigint, thread_id bigint, last_read_message_id bigint, notification_level int,
	created_at timestamp, updated_at timestamp, UNIQUE (user_id, thread_id));
`

// Discourse is the chat of a Discourse site. Each of its actions returns the transactions that the
// site runs, in order.
type Discourse struct {
	Now func() int64 // Unix milliseconds; it must grow with each call

	members map[[2]int]bool // by channel and user; false: the user no longer follows the channel
	posts   map[int][]int   // by channel
	thread  map[int]int     // root of each reply
	row     map[int]int     // thread of each root
	author  map[int]int
	gone    map[int]bool
	last    int // newest id
}

// Begin returns the tables, with users and channels that count from 1. The first channel has
// threads. The last channel is a direct one of the first two users.
func (d *Discourse) Begin(users, channels int) []string {
	d.members, d.posts, d.thread, d.row, d.author, d.gone, d.last = map[[2]int]bool{}, map[int][]int{}, map[int]int{}, map[int]int{}, map[int]int{}, map[int]bool{}, 100
	all := []string{DiscourseTables}
	for channel := 1; channel <= channels; channel++ {
		kind, in := "Category", users
		if channel == channels {
			kind, in = "DirectMessage", 2
		}
		all = append(all, fmt.Sprintf("INSERT INTO chat_channels VALUES (%d, '%s', %v, NULL)", channel, kind, channel == 1))
		for user := 1; user <= in; user++ {
			d.members[[2]int{channel, user}] = true
			all = append(all, fmt.Sprintf("INSERT INTO user_chat_channel_memberships VALUES (%d, %d, %d, NULL, true, false, %s, %[4]s, NULL)", d.id(), user, channel, d.now()))
		}
	}
	return all
}

func (d *Discourse) id() int {
	d.last++
	return d.last
}

// now returns the time as a literal.
func (d *Discourse) now() string {
	return "'" + time.UnixMilli(d.Now()).UTC().Format("2006-01-02 15:04:05.000") + "'"
}

// member updates the row of a member.
func (d *Discourse) member(channel, user int, set string) string {
	return fmt.Sprintf("UPDATE user_chat_channel_memberships SET %s, updated_at = %s WHERE chat_channel_id = %d AND user_id = %d", set, d.now(), channel, user)
}

// read sets the pointer of a user in a channel to a message.
func (d *Discourse) read(channel, user, id int) string {
	return d.member(channel, user, fmt.Sprintf("last_read_message_id = %d, last_viewed_at = %s", id, d.now()))
}

// Post posts a message, or a reply if root is not 0. It writes the mentions of a message in a later
// transaction, and those of a reply in the same one, because a user follows a thread from a mention
// on.
func (d *Discourse) Post(r *rand.Rand, channel, user, root, mentioned int) (all []string) {
	begun, in := "", "NULL"
	if root != 0 {
		if d.row[root] == 0 {
			d.row[root] = d.id()
			begun = fmt.Sprintf("INSERT INTO chat_threads VALUES (%d, %d, %d); UPDATE chat_messages SET thread_id = %[1]d WHERE id = %[3]d;", d.row[root], channel, root)
		}
		in = strconv.Itoa(d.row[root])
	}
	id := d.id()
	if d.posts[channel], d.author[id] = append(d.posts[channel], id), user; root != 0 && channel == 1 {
		d.thread[id] = root
	}
	post := begun + fmt.Sprintf("INSERT INTO chat_messages VALUES (%d, %d, %d, %s, NULL, %s, 'words');", id, channel, user, d.now(), in)
	if root == 0 || channel != 1 {
		post += d.read(channel, user, id) + ";"
	} else {
		post += d.reads(root, user, id, 2) + ";"
	}
	mention := ""
	if mentioned != 0 {
		kind, target := "Chat::UserMention", strconv.Itoa(mentioned)
		if r.IntN(5) == 0 {
			kind, target = "Chat::AllMention", "NULL"
		}
		mention = fmt.Sprintf("INSERT INTO chat_mentions VALUES (%d, %d, '%s', %s)", d.id(), id, kind, target)
	}
	counted := fmt.Sprintf("UPDATE chat_channels SET messages_count = messages_count + 1 WHERE id = %d", channel)
	if d.thread[id] != 0 {
		return []string{post + mention, counted}
	}
	if all = append(all, post, counted); mention != "" {
		all = append(all, mention)
	}
	return all
}

// reads writes the row of a user's thread.
func (d *Discourse) reads(root, user, id, level int) string {
	read := "NULL"
	if id != 0 {
		read = strconv.Itoa(id)
	}
	return fmt.Sprintf(`INSERT INTO user_chat_thread_memberships VALUES (%d, %d, %d, %s, %d, %s, %[6]s) ON CONFLICT (user_id, thread_id)
		DO UPDATE SET last_read_message_id = excluded.last_read_message_id, notification_level = excluded.notification_level, updated_at = excluded.updated_at`,
		d.id(), user, d.row[root], read, level, d.now())
}

// Step plays a random action.
func (d *Discourse) Step(r *rand.Rand, users, channels int) []string {
	channel, user := 1+r.IntN(channels), 1+r.IntN(users)
	in, was := d.members[[2]int{channel, user}]
	posts, some := d.posts[channel], 0
	if !was {
		return nil // the user is no member of the direct channel
	}
	what := r.IntN(20)
	if len(posts) == 0 {
		what = 0
	} else {
		some = posts[r.IntN(len(posts))]
	}
	if !in { // they follow it again, which reads it
		d.members[[2]int{channel, user}] = true
		return []string{d.member(channel, user, fmt.Sprintf("following = true, last_read_message_id = (SELECT max(id) FROM chat_messages WHERE chat_channel_id = %d)", channel))}
	}
	other := 0
	if u := 1 + r.IntN(users); u != user && r.IntN(3) == 0 {
		other = u
	}
	switch {
	case what < 9:
		root := 0
		if some != 0 && d.thread[some] == 0 && !d.gone[some] && r.IntN(3) == 0 {
			root = some
		}
		return d.Post(r, channel, user, root, other)
	case what < 13:
		return []string{d.read(channel, user, posts[len(posts)-1])}
	case what == 13:
		return []string{d.read(channel, user, some)}
	case what == 14 && !d.gone[some]:
		d.gone[some] = true
		return []string{fmt.Sprintf("UPDATE chat_messages SET deleted_at = %s WHERE id = %d", d.now(), some)}
	case what == 15 && !d.gone[some] && d.thread[some] == 0:
		return []string{
			fmt.Sprintf("UPDATE chat_messages SET message = 'edited' WHERE id = %d", some),
			fmt.Sprintf("DELETE FROM chat_mentions WHERE chat_message_id = %d", some),
		}
	case what == 16 && channel != 1:
		// Everybody keeps the first channel: following its threads must not depend on absences. The
		// first user keeps all channels, so that each has a member.
		d.members[[2]int{channel, user}] = user == 1
		return []string{d.member(channel, user, fmt.Sprintf("following = %v", user == 1))}
	case what == 17:
		return []string{d.member(channel, user, fmt.Sprintf("muted = %v", r.IntN(2) == 0))}
	}
	if d.thread[some] != 0 {
		some = d.thread[some]
	}
	if channel != 1 || d.row[some] == 0 {
		return nil
	}
	read := 0
	for _, id := range posts {
		if d.thread[id] == some && r.IntN(2) == 0 {
			read = id
		}
	}
	return []string{d.reads(some, user, read, pick(r, []int{1, 2, 2, 3}))}
}

// Names returns the channels, and the messages that can be roots of threads.
func (d *Discourse) Names() (channels, roots []string) {
	for channel, posts := range d.posts {
		channels = append(channels, strconv.Itoa(channel))
		for _, id := range posts {
			if d.thread[id] == 0 {
				roots = append(roots, strconv.Itoa(id))
			}
		}
	}
	return channels, roots
}
