package chats

import (
	"fmt"
	"maps"
	"slices"
)

// Synapse imitates a Synapse server with its database. Every action takes a minute, unless Clock is
// set.
type Synapse struct {
	Now   int64 // Unix milliseconds
	Clock func() int64

	events   []*event
	rooms    []*room
	receipts []*receipt
	direct   map[string][]string // rooms by user
	muted    [][3]string         // user, rule and actions
	unmuted  map[string]bool     // rules that were disabled later
	changed  []string            // rows of push_rules_stream
	follows  []string            // rows of thread_subscriptions

	pushes    []*push
	summaries map[place]*summary
	rotated   int64
	written   map[string][]string // rows by table, for Changes
	read      int64               // newest position in the stream of receipts
}

// Message is what a user sends. The zero value of Kind is m.room.message.
type Message struct {
	Kind, Type, Body, Thread, Edits, Reacts string
	Mentions                                []string
	Everybody                               bool
}

type event struct {
	id, kind, room, sender, member, membership string
	stream, received                           int64
	content                                    map[string]any
	relates, relation                          string // the row of event_relations
	redacts                                    string
	outlier                                    bool
}

type room struct {
	id      string
	joined  map[string]bool
	current map[string]*event // memberships
}

// receipt is a row of receipts_linearized. A nil thread means that the receipt has none.
type receipt struct {
	stream, at       int64
	room, kind, user string
	event            *event
	thread           *string
}

// NewSynapse returns an empty server.
func NewSynapse(begin int64) *Synapse {
	return &Synapse{Now: begin, direct: map[string][]string{}, unmuted: map[string]bool{}, summaries: map[place]*summary{}}
}

// Room makes a room whose members join one after the other.
func (s *Synapse) Room(id string, members ...string) {
	s.rooms = append(s.rooms, &room{id, map[string]bool{}, map[string]*event{}})
	for _, user := range members {
		s.Membership(id, user, "join")
	}
}

// Membership writes a membership event. A second join changes the user's name.
func (s *Synapse) Membership(id, user, membership string) {
	e := s.add(&event{kind: "m.room.member", room: id, sender: user, member: user, membership: membership, content: map[string]any{"membership": membership}})
	r := s.room(id)
	r.joined[user], r.current[user] = membership == "join", e
}

// Invite invites a user to a direct room, which they join later.
func (s *Synapse) Invite(id, by, user string) {
	s.add(&event{
		kind: "m.room.member", room: id, sender: by, member: user, membership: "invite",
		content: map[string]any{"membership": "invite", "is_direct": true},
	})
}

// tick moves the clock to the next action.
func (s *Synapse) tick() {
	if s.Now += 60_000; s.Clock != nil {
		s.Now = s.Clock()
	}
}

func (s *Synapse) add(e *event) *event {
	s.tick()
	if e.received == 0 {
		e.received = s.Now
	}
	e.stream = int64(len(s.events) + 1)
	e.id = fmt.Sprintf("$e%d", e.stream)
	s.events = append(s.events, e)
	return e
}

// Send sends a message, an edit or a reaction. It returns its id.
func (s *Synapse) Send(id, user string, m Message) string {
	e := &event{kind: m.Kind, room: id, sender: user, content: map[string]any{}}
	content := e.content
	if e.kind == "" {
		e.kind = "m.room.message"
	}
	if e.kind == "m.room.message" {
		if m.Type == "" {
			m.Type = "m.text"
		}
		content["msgtype"], content["body"] = m.Type, m.Body
	}
	mentions := map[string]any{}
	if len(m.Mentions) > 0 {
		mentions["user_ids"] = m.Mentions
	}
	if m.Everybody {
		mentions["room"] = true
	}
	content["m.mentions"] = mentions
	switch {
	case m.Edits != "":
		e.relates, e.relation = m.Edits, "m.replace"
		content["m.new_content"] = maps.Clone(content)
	case m.Reacts != "":
		e.kind, e.relates, e.relation = "m.reaction", m.Reacts, "m.annotation"
	case m.Thread != "":
		e.relates, e.relation = m.Thread, "m.thread"
	}
	if e.relates != "" {
		content["m.relates_to"] = map[string]any{"rel_type": e.relation, "event_id": e.relates}
	}
	s.add(e)
	s.notify(e, m)
	return e.id
}

// Redact redacts an event and deletes the row of its relation. Censor removes its content some days
// later.
func (s *Synapse) Redact(user, id string) {
	e := s.event(id)
	s.add(&event{kind: "m.room.redaction", room: e.room, sender: user, redacts: id, content: map[string]any{}})
	e.relates = ""
	s.pushes = slices.DeleteFunc(s.pushes, func(p *push) bool { return p.event == e })
}

// Censor removes the content of a redacted event.
func (s *Synapse) Censor(id string) { s.event(id).content = map[string]any{} }

// Read sends a receipt of a kind, with or without a thread.
func (s *Synapse) Read(kind, user, id string, thread ...string) {
	s.tick()
	e := s.event(id)
	r := &receipt{at: s.Now, room: e.room, kind: kind, user: user, event: e}
	if len(thread) > 0 {
		r.thread = &thread[0]
	}
	s.receipts = slices.DeleteFunc(s.receipts, func(o *receipt) bool {
		return o.room == r.room && o.kind == kind && o.user == user && (o.thread == nil) == (r.thread == nil) && (o.thread == nil || *o.thread == *r.thread)
	})
	s.read++
	r.stream = 1000 + s.read
	s.receipts = append(s.receipts, r)
	s.readPushes(r)
}

// Direct marks a room as direct for a user.
func (s *Synapse) Direct(user, room string) { s.direct[user] = append(s.direct[user], room) }

// Mute makes a push rule of the kind override or room.
func (s *Synapse) Mute(user, kind, room, actions string) {
	s.muted = append(s.muted, [3]string{user, "global/" + kind + "/" + room, actions})
	s.change(user, "global/"+kind+"/"+room, "ADD", actions)
}

// Unmute disables such a rule.
func (s *Synapse) Unmute(user, kind, room string) {
	s.unmuted[user+" global/"+kind+"/"+room] = true
	s.change(user, "global/"+kind+"/"+room, "DISABLE", nil)
}

// change is a row of push_rules_stream.
func (s *Synapse) change(user, rule, op string, actions any) {
	s.changed = append(s.changed, values(len(s.changed)+2, len(s.events), user, rule, op, nil, nil, nil, actions, "master"))
}

// Subscribe makes a user follow a thread, or stop following it.
func (s *Synapse) Subscribe(user, thread string, subscribed bool) {
	s.follows = append(s.follows, values(len(s.follows)+1, "master", s.event(thread).room, thread, user, subscribed, false))
}
