package chats

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// RocketChat is a Rocket.Chat server whose users do random things.
type RocketChat struct {
	r   *rand.Rand
	now int64 // Unix milliseconds

	Users, Rooms []string
	KeepRoots    bool // messages with replies are never deleted
	settings     map[string]string
	messages     []*rcMessage
	subs         map[string]*rcSub // by room and user
	versions     map[string]rcVersion
}

type rcMessage struct {
	id, room, user, kind, root string
	at, edited, last           int64
	shown, hidden              bool // a reply that is shown in the room; a deleted message
	parent                     string
	mentions                   []string
	followers                  []string // of a root
	replies                    int
	gone                       bool // the document is removed
}

// rcVersion is a document as of one write.
type rcVersion struct {
	text string
	at   int64
}

type rcSub struct {
	at, seen              int64
	alert, marked, muted  bool
	unread, named, called int
	threads               []string
}

// PlayRocketChat plays a number of random actions.
func PlayRocketChat(r *rand.Rand, begin int64, actions int) *RocketChat {
	c := &RocketChat{
		r: r, now: begin, Users: []string{"ann", "bob", "cem", "dee"}, Rooms: []string{"GENERAL", "random", "annbob"}, subs: map[string]*rcSub{}, versions: map[string]rcVersion{},
		settings: map[string]string{"Unread_Count": pick(r, []string{"all_messages", "user_and_group_mentions_only"})},
	}
	for range actions {
		c.Step()
	}
	return c
}

// Step plays a random action.
func (c *RocketChat) Step() { c.step(pick(c.r, c.Rooms), pick(c.r, c.Users)) }

// Now returns the time of the last action, in Unix milliseconds.
func (c *RocketChat) Now() int64 { return c.now }

func (c *RocketChat) tick() int64 {
	c.now += 1 + c.r.Int64N(2*hour)
	return c.now
}

func (c *RocketChat) members(room string) (users []string) {
	for _, u := range c.Users {
		if c.subs[room+u] != nil {
			users = append(users, u)
		}
	}
	return users
}

func (c *RocketChat) add(m *rcMessage) *rcMessage {
	m.at = c.tick()
	m.id = fmt.Sprintf("m%d", len(c.messages))
	c.messages = append(c.messages, m)
	return m
}

func (c *RocketChat) step(room, user string) {
	sub := c.subs[room+user]
	if sub == nil {
		if room != "annbob" || user == "ann" || user == "bob" {
			c.add(&rcMessage{room: room, user: user, kind: "uj"})
			c.subs[room+user] = &rcSub{at: c.now}
		}
		return
	}
	var live []*rcMessage
	for _, m := range c.messages {
		if m.room == room && m.kind == "" && !m.hidden && !m.gone {
			live = append(live, m)
		}
	}
	what := c.r.IntN(16)
	if len(live) == 0 {
		what = 0
	}
	switch {
	case what < 6:
		c.post(room, user, nil)
	case what < 9:
		root := pick(c.r, live)
		if root.root == "" {
			c.post(room, user, root)
		}
	case what < 11:
		*sub = rcSub{at: sub.at, seen: c.tick(), muted: sub.muted, threads: sub.threads}
	case what == 11:
		if m := pick(c.r, live); m.user != user && m.at < sub.seen && m.root == "" {
			sub.seen, sub.alert, sub.marked = m.at, true, true // unread stays the same
		}
	case what == 12:
		c.remove(pick(c.r, live))
	case what == 13:
		m := pick(c.r, live)
		c.messages = append(c.messages, &rcMessage{id: "old-" + fmt.Sprint(len(c.messages)), room: room, user: m.user, at: m.at, hidden: true, parent: m.id, edited: c.tick()})
	case what == 14:
		if sub.threads = nil; c.r.IntN(3) == 0 && room != "annbob" {
			delete(c.subs, room+user)
			c.add(&rcMessage{room: room, user: user, kind: "ul"})
		}
	case what == 15:
		if m := pick(c.r, live); slices.Contains(m.followers, user) {
			m.followers = slices.DeleteFunc(m.followers, func(u string) bool { return u == user })
			sub.threads = slices.DeleteFunc(sub.threads, func(id string) bool { return id == m.id })
		} else {
			sub.muted = true
		}
	}
}

// post posts a message, and raises the counters of the other members as the server does.
func (c *RocketChat) post(room, user string, root *rcMessage) {
	m := c.add(&rcMessage{room: room, user: user})
	members := c.members(room)
	if u := pick(c.r, members); u != user && c.r.IntN(4) == 0 {
		m.mentions = []string{u}
	} else if c.r.IntN(6) == 0 {
		m.mentions = []string{"all"}
	}
	if root != nil {
		m.root, m.shown = root.id, c.r.IntN(4) == 0
		root.replies++
		root.last = m.at
		for _, u := range append([]string{root.user, user}, m.mentions...) {
			if u != "all" && c.subs[room+u] != nil && !slices.Contains(root.followers, u) {
				root.followers = append(root.followers, u)
			}
		}
		for _, u := range root.followers {
			if s := c.subs[room+u]; s != nil && u != user && !slices.Contains(s.threads, root.id) {
				s.threads = append(s.threads, root.id)
			}
		}
		if s := c.subs[room+user]; slices.Contains(s.threads, root.id) {
			s.threads = slices.DeleteFunc(s.threads, func(id string) bool { return id == root.id }) // they see it now
		}
		return
	}
	all := c.counts(room)
	for _, u := range members {
		s := c.subs[room+u]
		if u == user {
			continue
		}
		s.alert = true
		switch {
		case slices.Contains(m.mentions, u):
			s.unread, s.named = s.unread+1, s.named+1
		case slices.Contains(m.mentions, "all"):
			s.unread, s.called = s.unread+1, s.called+1
		case all:
			s.unread++
		}
	}
}

// counts reports whether all messages of a room raise unread.
func (c *RocketChat) counts(room string) bool {
	return room == "annbob" || c.settings["Unread_Count"] == "all_messages"
}

// remove deletes a message in one of the ways that the server's settings allow.
func (c *RocketChat) remove(m *rcMessage) {
	switch how := c.r.IntN(3); {
	case m.replies > 0 && c.KeepRoots:
	case how == 0 || m.replies > 0: // shown as deleted
		m.kind, m.edited = "rm", c.tick()
	case how == 1:
		m.hidden = true
	default:
		m.gone = true
	}
}

// Want returns what a user must have in a room.
func (c *RocketChat) Want(user, room string) (w Want) {
	sub := c.subs[room+user]
	if sub == nil {
		return w
	}
	w.Member = true
	read := sub.seen
	if sub.marked {
		read--
	}
	if read <= 0 {
		for _, m := range c.messages {
			if m.room == room && m.user == user && (m.kind == "" || m.kind == "rm" && m.replies == 0) && m.parent == "" && (m.root == "" || m.shown) && !m.gone {
				read = m.at // posting reads if there is no pointer
			}
		}
	}
	if room != "annbob" {
		read = max(read, sub.at)
	}
	for _, m := range c.messages {
		if m.room == room && m.kind == "" && !m.hidden && !m.gone && m.user != user && m.at > read && (m.root == "" || m.shown) {
			w.Unread++
			if slices.Contains(m.mentions, user) || slices.Contains(m.mentions, "all") {
				w.Mentions++
			}
		}
	}
	return w
}

// Threads returns the roots of a room's threads, except deleted ones.
func (c *RocketChat) Threads(room string) (roots []string) {
	for _, m := range c.messages {
		if m.room == room && m.replies > 0 {
			roots = append(roots, m.id)
		}
	}
	return roots
}

// WantThread returns whether a user follows a thread, and how many of its replies are certainly
// unread.
func (c *RocketChat) WantThread(user, room, root string) (follows bool, unread uint32) {
	sub := c.subs[room+user]
	i := slices.IndexFunc(c.messages, func(m *rcMessage) bool { return m.id == root })
	if sub == nil || !slices.Contains(c.messages[i].followers, user) {
		return false, 0
	}
	if slices.Contains(sub.threads, root) {
		for _, m := range c.messages {
			if m.root == root && !m.shown && m.at == c.messages[i].last && m.user != user && m.kind == "" && !m.hidden && !m.gone {
				unread = 1
			}
		}
	}
	return true, unread
}

// Write writes the dump into a folder.
func (c *RocketChat) Write(dir string) error { return WriteDump(dir, c.Documents()) }

// Documents returns the documents of each collection.
func (c *RocketChat) Documents() map[string][]bson.D {
	date := func(at int64) any {
		if at == 0 {
			return nil
		}
		return bson.NewDateTimeFromTime(time.UnixMilli(at))
	}
	dump := map[string][]bson.D{}
	for _, room := range c.Rooms {
		kind := "c"
		if room == "annbob" {
			kind = "d"
		}
		dump["rocketchat_room"] = append(dump["rocketchat_room"], bson.D{{Key: "_id", Value: room}, {Key: "t", Value: kind}})
		for _, u := range c.members(room) {
			s := c.subs[room+u]
			dump["rocketchat_subscription"] = append(dump["rocketchat_subscription"], bson.D{
				{Key: "_id", Value: fmt.Sprint(room, u, s.at)}, {Key: "rid", Value: room}, {Key: "t", Value: map[bool]string{true: "d", false: "c"}[room == "annbob"]}, {Key: "u", Value: bson.D{{Key: "_id", Value: u}, {Key: "username", Value: u}}},
				{Key: "ts", Value: date(s.at)}, {Key: "ls", Value: date(s.seen)}, {Key: "alert", Value: s.alert}, {Key: "unread", Value: int32(s.unread)},
				{Key: "userMentions", Value: float64(s.named)}, {Key: "groupMentions", Value: int64(s.called)}, {Key: "tunread", Value: s.threads},
				{Key: "disableNotifications", Value: s.muted},
			})
		}
	}
	for _, m := range c.messages {
		if m.gone {
			continue
		}
		d := bson.D{
			{Key: "_id", Value: m.id}, {Key: "rid", Value: m.room}, {Key: "ts", Value: date(m.at)}, {Key: "u", Value: bson.D{{Key: "_id", Value: m.user}}},
			{Key: "msg", Value: "words"}, {Key: "md", Value: bson.A{bson.D{{Key: "type", Value: "PARAGRAPH"}}}},
		}
		for key, value := range map[string]string{"t": m.kind, "tmid": m.root, "parent": m.parent} {
			if value != "" {
				d = append(d, bson.E{Key: key, Value: value})
			}
		}
		if m.edited > 0 {
			d = append(d, bson.E{Key: "editedAt", Value: date(m.edited)})
		}
		if m.replies > 0 {
			d = append(d, bson.E{Key: "tcount", Value: int32(m.replies)}, bson.E{Key: "tlm", Value: date(m.last)}, bson.E{Key: "replies", Value: m.followers})
		}
		var mentions bson.A
		for _, u := range m.mentions {
			mentions = append(mentions, bson.D{{Key: "_id", Value: u}, {Key: "username", Value: u}})
		}
		d = append(d, bson.E{Key: "mentions", Value: mentions}, bson.E{Key: "tshow", Value: m.shown}, bson.E{Key: "_hidden", Value: m.hidden})
		dump["rocketchat_message"] = append(dump["rocketchat_message"], d)
	}
	for _, id := range slices.Sorted(maps.Keys(c.settings)) {
		dump["rocketchat_settings"] = append(dump["rocketchat_settings"], bson.D{{Key: "_id", Value: id}, {Key: "value", Value: c.settings[id]}})
	}
	for _, documents := range dump {
		for i, d := range documents {
			id := d[0].Value.(string)
			b, _ := bson.Marshal(d) // texts and numbers always marshal
			if was := c.versions[id]; was.text != string(b) {
				c.versions[id] = rcVersion{string(b), c.now}
			}
			documents[i] = append(d, bson.E{Key: "_updatedAt", Value: date(c.versions[id].at)})
		}
	}
	return dump
}

// WriteDump writes collections as mongodump does.
func WriteDump(dir string, dump map[string][]bson.D) error {
	for name, documents := range dump {
		var b []byte
		for _, d := range documents {
			one, err := bson.Marshal(d)
			if err != nil {
				return err
			}
			b = append(b, one...)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".bson"), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}
