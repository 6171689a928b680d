package chats

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// TinodeTables are the tables and columns of Tinode that an import or a bridge reads.
const TinodeTables = `
CREATE TABLE topics (id serial PRIMARY KEY, createdat timestamp(3) NOT NULL, updatedat timestamp(3), state smallint NOT NULL DEFAULT 0, stateat timestamp(3),
	name varchar(25) UNIQUE NOT NULL, seqid int NOT NULL DEFAULT 0, delid int DEFAULT 0);
CREATE TABLE subscriptions (id serial PRIMARY KEY, createdat timestamp(3) NOT NULL, updatedat timestamp(3) NOT NULL, deletedat timestamp(3), userid bigint NOT NULL,
	topic varchar(25) NOT NULL, delid int DEFAULT 0, recvseqid int DEFAULT 0, readseqid int DEFAULT 0, modewant varchar(8), modegiven varchar(8));
CREATE TABLE messages (id serial PRIMARY KEY, createdat timestamp(3) NOT NULL, updatedat timestamp(3), deletedat timestamp(3), delid int DEFAULT 0, seqid int NOT NULL,
	topic varchar(25) NOT NULL, "from" bigint NOT NULL, head json, content json, UNIQUE (topic, seqid));
CREATE TABLE dellog (id serial PRIMARY KEY, topic varchar(25) NOT NULL, deletedfor bigint NOT NULL DEFAULT 0, delid int NOT NULL, low int NOT NULL, hi int NOT NULL);
`

// Tinode is a Tinode server whose users do random things.
type Tinode struct {
	r     *rand.Rand
	now   int64        // Unix milliseconds
	clock func() int64 // nil: random times after now

	Users  []int64
	Topics []string
	subs   map[string]*tinodeSub // by topic and user
	posts  map[string][]*tinodePost
	hidden []string // rows of dellog
}

type tinodeSub struct {
	user       int64
	topic      string
	at, left   int64
	read       int
	deletedFor map[int]bool
}

type tinodePost struct {
	from    int64
	at      int64
	deleted int64
	missing bool // the row is gone
	edits   bool
}

// PlayTinode plays a number of random actions.
func PlayTinode(r *rand.Rand, begin int64, actions int) *Tinode {
	s := &Tinode{
		r: r, now: begin, Users: []int64{101, 102, 103, 104}, Topics: []string{"grpA", "grpB", "p2pX"}, subs: map[string]*tinodeSub{}, posts: map[string][]*tinodePost{},
	}
	for range actions {
		s.step(pick(r, s.Topics), pick(r, s.Users))
	}
	return s
}

func (s *Tinode) tick() int64 {
	if s.clock != nil {
		s.now = s.clock()
		return s.now
	}
	s.now += 1 + s.r.Int64N(2*hour)
	return s.now
}

func (s *Tinode) step(topic string, user int64) {
	sub, posts := s.subs[topic+fmt.Sprint(user)], s.posts[topic]
	if sub == nil {
		if topic != "p2pX" || user < 103 {
			s.subs[topic+fmt.Sprint(user)] = &tinodeSub{user: user, topic: topic, at: s.tick(), deletedFor: map[int]bool{}}
		}
		return
	}
	what := s.r.IntN(14)
	if len(posts) == 0 {
		what = 0
	}
	switch {
	case sub.left > 0:
	case what < 7:
		s.posts[topic] = append(posts, &tinodePost{from: user, at: s.tick(), edits: len(posts) > 0 && s.r.IntN(8) == 0})
		sub.read = len(posts) + 1 // Tinode reads a message for its author
	case what < 10:
		sub.read = max(sub.read, 1+s.r.IntN(len(posts)))
		s.tick()
	case what == 10:
		if p := pick(s.r, posts); p.deleted == 0 {
			p.deleted, p.missing = s.tick(), s.r.IntN(2) == 0
		}
	case what == 11:
		low := 1 + s.r.IntN(len(posts))
		hi := min(low+1+s.r.IntN(3), len(posts)+1)
		s.hidden = append(s.hidden, fmt.Sprintf("('%s', %d, 1, %d, %d)", topic, user, low, hi))
		for n := low; n < hi; n++ {
			sub.deletedFor[n] = true
		}
	case what == 12 && topic != "p2pX" && s.r.IntN(3) == 0:
		sub.left = s.tick()
	}
}

// Want returns what a user must have in a topic.
func (s *Tinode) Want(user int64, topic string) (w Want) {
	sub := s.subs[topic+fmt.Sprint(user)]
	if sub == nil || sub.left > 0 {
		return w
	}
	w.Member = true
	for i, p := range s.posts[topic] {
		if i+1 > sub.read && p.from != user && p.deleted == 0 && !p.edits && !sub.deletedFor[i+1] && (topic == "p2pX" || p.at >= sub.at) {
			w.Unread++
		}
	}
	return w
}

// Heads returns the number of the newest message of each topic.
func (s *Tinode) Heads() map[string]int {
	heads := map[string]int{}
	for topic, posts := range s.posts {
		heads[topic] = len(posts)
	}
	return heads
}

// SQL returns statements that make the tables with their rows.
func (s *Tinode) SQL() string {
	rows := map[string][]string{"dellog (topic, deletedfor, delid, low, hi)": s.hidden}
	add := func(table, format string, args ...any) {
		rows[table] = append(rows[table], fmt.Sprintf("("+format+")", args...))
	}
	for _, topic := range s.Topics {
		add("topics (createdat, name, seqid)", "%s, '%s', %d", stampOf(1), topic, len(s.posts[topic]))
		for i, p := range s.posts[topic] {
			if p.missing {
				continue
			}
			from, content, deleted, head := p.from, `'"words"'`, "NULL", "NULL"
			if p.deleted > 0 {
				from, content, deleted = 0, "NULL", stampOf(p.deleted)
			}
			if p.edits {
				head = fmt.Sprintf(`'{"replace": ":%d"}'`, i)
			}
			add(`messages (createdat, deletedat, seqid, topic, "from", head, content)`, "%s, %s, %d, '%s', %d, %s, %s", stampOf(p.at), deleted, i+1, topic, from, head, content)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.subs)) {
		sub, left := s.subs[name], "NULL"
		if sub.left > 0 {
			left = stampOf(sub.left)
		}
		add("subscriptions (createdat, updatedat, deletedat, userid, topic, readseqid, modewant)", "%s, %s, %s, %d, '%s', %d, 'JRWPS'",
			stampOf(sub.at), stampOf(s.now), left, sub.user, sub.topic, sub.read)
	}
	return TinodeTables + insertsInto(rows)
}
