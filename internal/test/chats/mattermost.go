package chats

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// MattermostTables are the tables and columns of Mattermost that an import or a bridge reads.
const MattermostTables = `
CREATE TYPE channel_type AS ENUM ('P', 'G', 'O', 'D');
CREATE TABLE users (id varchar(26) PRIMARY KEY, username varchar(64));
CREATE TABLE channels (id varchar(26) PRIMARY KEY, type channel_type, deleteat bigint, lastpostat bigint, totalmsgcount bigint, totalmsgcountroot bigint);
CREATE TABLE channelmemberhistory (channelid varchar(26), userid varchar(26), jointime bigint, leavetime bigint, PRIMARY KEY (channelid, userid, jointime));
CREATE TABLE channelmembers (channelid varchar(26), userid varchar(26), lastviewedat bigint, lastupdateat bigint, notifyprops jsonb,
	msgcount bigint, msgcountroot bigint, mentioncount bigint, mentioncountroot bigint, PRIMARY KEY (channelid, userid));
CREATE TABLE posts (id varchar(26) PRIMARY KEY, createat bigint, updateat bigint, editat bigint, deleteat bigint, userid varchar(26), channelid varchar(26),
	rootid varchar(26), originalid varchar(26), message varchar(65535), type varchar(26), hasreactions boolean);
CREATE TABLE threadmemberships (postid varchar(26), userid varchar(26), following boolean, lastviewed bigint, lastupdated bigint, unreadmentions bigint,
	PRIMARY KEY (postid, userid));
`

// Mattermost imitates a Mattermost server. Each action returns the transactions that the server
// runs for it, in order.
type Mattermost struct {
	Now func() int64 // Unix milliseconds; it must grow with each call

	channels []*mmChannel
	posts    []*mmPost
}

type mmChannel struct {
	id      string
	direct  bool
	members map[string]int64 // time at which each member joined
	viewed  map[string]int64
	last    int64
	posts   []*mmPost
}

type mmPost struct {
	id, user, root, channel string
	at                      int64
	deleted                 bool
}

// Begin returns the tables, with users and channels. All users are members of each channel, except
// that a channel whose name begins with d is a direct channel of the first two users.
func (m *Mattermost) Begin(users, channels []string) []string {
	sql := MattermostTables
	for _, u := range users {
		sql += fmt.Sprintf("INSERT INTO users VALUES ('%s', '%[1]s');\n", u)
	}
	all := []string{sql}
	for _, id := range channels {
		c := &mmChannel{id: id, direct: id[0] == 'd', members: map[string]int64{}, viewed: map[string]int64{}}
		m.channels = append(m.channels, c)
		kind, in := "O", users
		if c.direct {
			kind, in = "D", users[:2]
		}
		all = append(all, fmt.Sprintf("INSERT INTO channels VALUES ('%s', '%s', 0, 0, 0, 0)", id, kind))
		for _, u := range in {
			all = append(all, m.join(c, u)...)
		}
	}
	return all
}

func (m *Mattermost) join(c *mmChannel, user string) []string {
	now := m.Now()
	c.members[user] = now
	c.viewed[user] = 0
	return []string{
		fmt.Sprintf("INSERT INTO channelmembers VALUES ('%s', '%s', 0, %d, '{\"mark_unread\": \"all\"}', 0, 0, 0, 0)", c.id, user, now),
		fmt.Sprintf("INSERT INTO channelmemberhistory VALUES ('%s', '%s', %d, NULL)", c.id, user, now),
	}
}

func (m *Mattermost) leave(c *mmChannel, user string) []string {
	joined := c.members[user]
	delete(c.members, user)
	return []string{
		fmt.Sprintf("DELETE FROM channelmembers WHERE channelid = '%s' AND userid = '%s'", c.id, user),
		fmt.Sprintf("UPDATE channelmemberhistory SET leavetime = %d WHERE channelid = '%s' AND userid = '%s' AND jointime = %d", m.Now(), c.id, user, joined),
	}
}

// view sets the pointer of a user.
func (m *Mattermost) view(c *mmChannel, user string, at int64) string {
	c.viewed[user] = at
	return fmt.Sprintf("UPDATE channelmembers SET lastviewedat = %d, lastupdateat = %d WHERE channelid = '%s' AND userid = '%s'", at, m.Now(), c.id, user)
}

// follow writes a row of threadmemberships. A pointer of -1 leaves the pointer unchanged.
func (m *Mattermost) follow(root, user string, following bool, viewed int64) string {
	set := ""
	if viewed >= 0 {
		set = fmt.Sprintf(", lastviewed = %d", viewed)
	}
	return fmt.Sprintf(`INSERT INTO threadmemberships VALUES ('%s', '%s', %v, %d, %d, 0)
		ON CONFLICT (postid, userid) DO UPDATE SET following = %[3]v, lastupdated = %[5]d%s`, root, user, following, max(viewed, 0), m.Now(), set)
}

// of returns a channel.
func (m *Mattermost) of(channel string) *mmChannel {
	return m.channels[slices.IndexFunc(m.channels, func(c *mmChannel) bool { return c.id == channel })]
}

// Post posts a message in a channel.
func (m *Mattermost) Post(channel, user, text string) []string {
	return m.post(m.of(channel), user, nil, text, nil)
}

// Join lets a user join a channel.
func (m *Mattermost) Join(channel, user string) []string { return m.join(m.of(channel), user) }

// Leave lets a user leave a channel.
func (m *Mattermost) Leave(channel, user string) []string { return m.leave(m.of(channel), user) }

// Mute mutes a channel for a user, or ends that.
func (m *Mattermost) Mute(channel, user string, muted bool) []string {
	mark := "all"
	if muted {
		mark = "mention"
	}
	return []string{fmt.Sprintf(`UPDATE channelmembers SET notifyprops = '{"mark_unread": "%s"}', lastupdateat = %d WHERE channelid = '%s' AND userid = '%s'`,
		mark, m.Now(), channel, user)}
}

// post posts a message, which reads the channel for its author.
func (m *Mattermost) post(c *mmChannel, user string, root *mmPost, text string, mentioned []string) []string {
	p := &mmPost{id: fmt.Sprintf("p%d", len(m.posts)), user: user, channel: c.id, at: m.Now()}
	var follows []string
	if root != nil {
		p.root = root.id
		follows = append(follows, m.follow(root.id, user, true, p.at))
		for _, u := range append([]string{root.user}, mentioned...) {
			if u != user {
				follows = append(follows, m.follow(root.id, u, true, -1))
			}
		}
	}
	m.posts, c.posts = append(m.posts, p), append(c.posts, p)
	c.last = p.at
	insert := fmt.Sprintf("INSERT INTO posts VALUES ('%s', %d, %[2]d, 0, 0, '%s', '%s', '%s', '', '%s', '', false)", p.id, p.at, user, c.id, p.root, text)
	all := append([]string{insert}, follows...)
	all = append(all, fmt.Sprintf("UPDATE channels SET lastpostat = %d, totalmsgcount = totalmsgcount + 1 WHERE id = '%s'", p.at, c.id))
	for _, u := range mentioned {
		all = append(all, fmt.Sprintf("UPDATE channelmembers SET mentioncount = mentioncount + 1, lastupdateat = %d WHERE channelid = '%s' AND userid = '%s'", p.at, c.id, u))
	}
	return append(all, m.view(c, user, p.at))
}

// Step plays a random action.
func (m *Mattermost) Step(r *rand.Rand, users []string) []string {
	c, user := m.channels[r.IntN(len(m.channels))], users[r.IntN(len(users))]
	if _, in := c.members[user]; !in {
		if c.direct {
			return nil
		}
		return m.join(c, user)
	}
	var root, some *mmPost
	if len(c.posts) > 0 {
		some = c.posts[r.IntN(len(c.posts))]
		if root = some; some.root != "" {
			i := slices.IndexFunc(c.posts, func(p *mmPost) bool { return p.id == some.root })
			root = c.posts[i]
		}
	}
	what := r.IntN(20)
	if some == nil {
		what = 0
	}
	switch {
	case what < 8:
		text, mentioned := "words", []string(nil)
		if u := users[r.IntN(len(users))]; r.IntN(3) == 0 && u != user {
			if _, in := c.members[u]; in {
				text, mentioned = "for @"+u, []string{u}
			}
		}
		if root == nil || root.deleted || r.IntN(3) > 0 {
			root = nil
		}
		return m.post(c, user, root, text, mentioned)
	case what < 12:
		return []string{m.view(c, user, max(c.viewed[user], c.last))}
	case what < 13:
		return []string{m.view(c, user, some.at-1)}
	case what < 14:
		return m.remove(some)
	case what < 15 && !some.deleted:
		text := "edited"
		// A reply gets no new mention, which would undo an unfollow.
		if u := users[r.IntN(len(users))]; u != some.user && some.root == "" && r.IntN(2) == 0 {
			text = "now for @" + u
		}
		now := m.Now()
		return []string{fmt.Sprintf(`INSERT INTO posts SELECT 'o' || %d, createat, %[1]d, editat, %[1]d, userid, channelid, rootid, id, message, type, hasreactions
			FROM posts WHERE id = '%s'; UPDATE posts SET message = '%s', editat = %[1]d, updateat = %[1]d WHERE id = '%[2]s'`, now, some.id, text)}
	case what < 16:
		return []string{fmt.Sprintf("UPDATE posts SET hasreactions = true, updateat = %d WHERE id = '%s'", m.Now(), some.id)}
	case what < 17:
		if c.direct {
			return nil
		}
		return m.leave(c, user)
	case what < 18:
		return m.Mute(c.id, user, r.IntN(2) > 0)
	case root.deleted:
		return nil
	}
	viewed := []int64{m.Now(), -1, some.at - 1}[r.IntN(3)]
	return []string{m.follow(root.id, user, r.IntN(4) > 0, viewed)}
}

// remove deletes a post and its replies.
func (m *Mattermost) remove(p *mmPost) []string {
	if p.deleted {
		return nil
	}
	for _, x := range m.posts {
		if x == p || x.root == p.id {
			x.deleted = true
		}
	}
	return []string{fmt.Sprintf("UPDATE posts SET deleteat = %d, updateat = %[1]d WHERE (id = '%s' OR rootid = '%[2]s') AND deleteat = 0", m.Now(), p.id)}
}

// Names returns the channels, and the messages that can be roots of threads.
func (m *Mattermost) Names() (channels, roots []string) {
	for _, c := range m.channels {
		channels = append(channels, c.id)
	}
	for _, p := range m.posts {
		if p.root == "" {
			roots = append(roots, p.id)
		}
	}
	return channels, roots
}
