package bridge

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/test/chats"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// story has random actions of users on a Synapse server.
type story struct {
	*chats.Synapse
	r     *rand.Rand
	users []string
	rooms []string

	in       map[string]bool     // by room and user
	messages map[string][]string // ids, by room
	author   map[string]string
	root     map[string]string // root of each reply
	gone     map[string]bool
	edits    map[string]string // message of each edit
	seen     map[string]int    // last message of each receipt, by room, kind, user and thread
	muted    map[string]bool
	said     map[string]bool // subscriptions
}

func newStory(b *bed, seed uint64) *story {
	s := &story{
		Synapse: chats.NewSynapse(0), r: rand.New(rand.NewPCG(seed, 3)), users: []string{"@ann:here", "@bob:here", "@cem:here", "@dee:here"},
		rooms: []string{"!general:here", "!random:here"}, in: map[string]bool{}, messages: map[string][]string{}, author: map[string]string{}, root: map[string]string{},
		gone: map[string]bool{}, edits: map[string]string{}, seen: map[string]int{}, muted: map[string]bool{}, said: map[string]bool{},
	}
	s.Clock = b.now
	for _, room := range s.rooms {
		s.Room(room, s.users...)
		for _, u := range s.users {
			s.in[room+u] = true
		}
	}
	return s
}

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// step performs one action.
func (s *story) step() {
	room, user := pick(s.r, s.rooms), pick(s.r, s.users)
	if !s.in[room+user] {
		s.Membership(room, user, "join")
		s.in[room+user] = true
		return
	}
	ids := s.messages[room]
	what := s.r.IntN(20)
	if len(ids) == 0 {
		what = 0
	}
	switch {
	case what < 8:
		s.send(room, user)
	case what < 12:
		s.receipt(room, user)
	case what == 12:
		s.Send(room, user, chats.Message{Reacts: pick(s.r, ids)})
	case what == 13:
		m := chats.Message{Edits: pick(s.r, ids), Body: "edited"}
		if u := pick(s.r, s.users); u != s.author[m.Edits] && s.r.IntN(2) == 0 {
			m.Mentions = []string{u}
		}
		if s.gone[m.Edits] {
			return
		}
		by := s.author[m.Edits]
		if s.r.IntN(4) == 0 {
			by = user // possibly another user
		}
		id := s.Send(room, by, m)
		s.edits[id], s.author[id] = m.Edits, by
	case what == 14:
		if id := pick(s.r, ids); !s.gone[id] {
			s.gone[id] = true
			s.Redact(s.author[id], id)
		}
	case what == 15:
		for id := range s.edits {
			if !s.gone[id] && !s.gone[s.edits[id]] {
				s.gone[id] = true
				s.Redact(s.author[id], id)
				return
			}
		}
	case what == 16:
		s.Membership(room, user, "leave")
		s.in[room+user] = false
	case what == 17:
		s.Membership(room, user, "join") // changes the user's name
	case what == 18:
		if at := user + room; !s.muted[at] {
			s.muted[at] = true
			s.Mute(user, "override", room, "[]")
		} else {
			s.Unmute(user, "override", room)
		}
	case what == 19:
		id := pick(s.r, ids)
		if at := user + id; s.root[id] == "" && !s.said[at] {
			s.said[at] = true
			s.Subscribe(user, id, s.r.IntN(3) > 0)
		}
	}
}

func (s *story) send(room, user string) {
	m := chats.Message{Body: "words"}
	if ids := s.messages[room]; len(ids) > 0 && s.r.IntN(3) == 0 {
		if root := pick(s.r, ids); s.root[root] == "" && !s.gone[root] {
			m.Thread = root
		}
	}
	if s.r.IntN(8) == 0 {
		m.Type = "m.notice"
	}
	if u := pick(s.r, s.users); u != user && s.r.IntN(4) == 0 {
		m.Mentions = []string{u}
	}
	id := s.Send(room, user, m)
	s.messages[room] = append(s.messages[room], id)
	s.author[id], s.root[id] = user, m.Thread
}

// receipt sends a receipt that is further than earlier ones, as clients do.
func (s *story) receipt(room, user string) {
	ids := s.messages[room]
	kind := pick(s.r, []string{"m.read", "m.read", "m.read.private"})
	at := len(ids) - 1
	var thread []string
	if first := room + user; s.seen[first] > 0 {
		at = max(0, at-s.r.IntN(4))
		if root := s.root[ids[at]]; root != "" && s.r.IntN(2) == 0 {
			thread = []string{root}
		} else if root == "" && s.r.IntN(3) == 0 {
			thread = []string{"main"}
		}
	} else {
		s.seen[first] = 1
	}
	name := room + kind + user + "/"
	if len(thread) > 0 {
		name += thread[0]
	}
	if at < s.seen[name] {
		return
	}
	s.seen[name] = at
	s.Read(kind, user, ids[at], thread...)
}

// names returns the messages that can be roots of threads.
func (s *story) names() (roots []string) {
	for _, room := range s.rooms {
		for _, id := range s.messages[room] {
			if s.root[id] == "" {
				roots = append(roots, id)
			}
		}
	}
	return roots
}

// directRoom makes a room to which one user invites another.
func (s *story) directRoom(b *bed) {
	const room = "!direct:here"
	ann, bob := s.users[0], s.users[1]
	s.rooms = append(s.rooms, room)
	for _, do := range []func(){
		func() { s.Room(room, ann) },
		func() { s.Direct(ann, room) },
		func() { s.Invite(room, ann, bob) },
		func() { s.send(room, ann) },
		func() { s.Membership(room, bob, "join") },
		func() { s.send(room, ann) },
	} {
		do()
		b.run(s.Changes())
	}
	s.in[room+ann], s.in[room+bob] = true, true
	s.rooms = slices.DeleteFunc(s.rooms, func(r string) bool { return r == room }) // the others cannot join
}

// The test imports the first half of random stories. A bridge, which is killed at random points,
// follows the rest. The numbers equal those of an import of everything.
func TestSynapseIsFollowed(t *testing.T) {
	dsn := testkit.Postgres(t)
	for seed := range uint64(2) {
		testkit.SQL(t, dsn, "DROP SCHEMA public CASCADE; CREATE SCHEMA public; DROP PUBLICATION IF EXISTS chat; DROP PUBLICATION IF EXISTS chat_inserts")
		b := newBed(t, "synapse", dsn, testkit.FakeKafka(t).ListenAddrs())
		s := newStory(b, seed)
		b.run(s.Changes())
		b.publish()
		play := func(n int) {
			for range n {
				s.step()
				b.run(s.Changes())
			}
		}
		play(120)
		made, err := source.CreateSlot(t.Context(), dsn, slot)
		if err != nil {
			t.Fatal(err)
		}
		play(40) // the snapshot does not have these
		b.importTo("parts.", made)
		made.Close(t.Context())
		kills := 0
		play(60)
		kills += b.follow(s.r, 4)
		s.directRoom(b)
		play(60)
		kills += b.follow(s.r, 4)
		b.importTo("whole.", nil)
		want, _ := b.fold("whole.")
		got, records := b.fold("parts.")
		b.once(records)
		b.same(want, got, s.users, append(s.rooms, "!direct:here"), s.names())
		if kills < 4 {
			t.Errorf("seed %d: killed %d times", seed, kills)
		}
		if err := source.DropSlot(t.Context(), dsn, slot); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// Bob's client sends a receipt, and then another kind of receipt for an older message: the further
// one applies. His client also sends a first receipt, for a message from before the replies of a
// thread in which Bob has replied: it reads none of them.
func TestReceiptsOfOneUserGoBack(t *testing.T) {
	dsn := testkit.Postgres(t)
	b := newBed(t, "synapse", dsn, testkit.FakeKafka(t).ListenAddrs())
	const ann, bob, cem, room, other = "@ann:here", "@bob:here", "@cem:here", "!general:here", "!other:here"
	s := chats.NewSynapse(0)
	s.Clock = b.now
	s.Room(room, ann, bob, cem)
	s.Room(other, ann, bob, cem)
	b.run(s.Changes())
	b.publish()
	b.importAtSlot()
	do := func(act func()) { act(); b.run(s.Changes()) }
	say := func(in, user, thread string) (id string) {
		do(func() { id = s.Send(in, user, chats.Message{Body: "words", Thread: thread}) })
		return id
	}
	first := say(room, ann, "")
	say(room, bob, "")
	last := say(room, ann, "")
	do(func() { s.Read("m.read", bob, last, "main") })
	do(func() { s.Read("m.read", bob, first) })
	do(func() { s.Read("m.read.private", bob, first, "main") })
	root := say(other, cem, "")
	say(other, bob, root)
	say(other, ann, root)
	say(other, bob, root)
	b.follow(rand.New(rand.NewPCG(1, 1)), 0) // so that the bridge sees the replies before any receipt
	do(func() { s.Read("m.read", bob, root) })
	b.follow(rand.New(rand.NewPCG(1, 1)), 0)
	b.importTo("whole.", nil)
	want, _ := b.fold("whole.")
	got, _ := b.fold("parts.")
	b.same(want, got, []string{ann, bob, cem}, []string{room, other}, []string{first, root})
	if v, _ := got.View(bob, room); v.Unread != 0 {
		t.Errorf("bob has %d unread messages in the room", v.Unread)
	}
	if v, _ := got.Thread(bob, other, root); v.Unread != 1 {
		t.Errorf("bob has %d unread replies", v.Unread)
	}
}

// Ann edits a reply, so that it mentions Cem, and redacts the edit before the bridge sees any of it.
// Cem follows the thread all the same, as if the bridge had been there. In another thread, Ann edits
// a reply twice: each edit has its own mentions, not those of the newest one.
func TestEditsAreFollowedAsTheyWere(t *testing.T) {
	dsn := testkit.Postgres(t)
	b := newBed(t, "synapse", dsn, testkit.FakeKafka(t).ListenAddrs())
	const ann, bob, cem, dee, room = "@ann:here", "@bob:here", "@cem:here", "@dee:here", "!general:here"
	s := chats.NewSynapse(0)
	s.Clock = b.now
	s.Room(room, ann, bob, cem, dee)
	b.run(s.Changes())
	b.publish()
	b.importAtSlot()
	send := func(user string, m chats.Message) (id string) {
		m.Body = "words"
		id = s.Send(room, user, m)
		b.run(s.Changes())
		return id
	}
	roots := []string{send(bob, chats.Message{}), send(bob, chats.Message{})}
	late := send(ann, chats.Message{Thread: roots[0]})
	edit := send(ann, chats.Message{Edits: late, Mentions: []string{cem}})
	s.Redact(ann, edit)
	b.run(s.Changes())
	twice := send(ann, chats.Message{Thread: roots[1]})
	send(ann, chats.Message{Edits: twice, Mentions: []string{cem}})
	send(ann, chats.Message{Edits: twice, Mentions: []string{dee}})
	b.follow(rand.New(rand.NewPCG(1, 1)), 0)
	got, _ := b.fold("parts.")
	for _, want := range []struct {
		user             string
		root             int
		follows          bool
		unread, mentions uint32
	}{{cem, 0, true, 1, 0}, {dee, 0, false, 0, 0}, {cem, 1, true, 1, 0}, {dee, 1, true, 1, 1}} {
		v, _ := got.Thread(want.user, room, roots[want.root])
		if v.Following != want.follows || v.Unread != want.unread || v.Mentions != want.mentions {
			t.Errorf("%s in thread %d: following %v, %d unread, %d mentions; want %+v", want.user, want.root, v.Following, v.Unread, v.Mentions, want)
		}
	}
}
