package synapse

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/test/matrix"
	"github.com/tidemark/tidemark/internal/test/testkit/servers"
)

// Kinds of actions.
type kind int

const (
	joins kind = iota
	leaves
	renames
	posts
	edits
	reacts
	redacts
	reads
	mutes
	enables // enables or disables a rule that mutes
	marks   // marks a room as unread or not: Tidemark does not map it, so no number changes
)

// act is a user's action.
type act struct {
	kind kind
	room *room
	user string
	id   string // the event that it sent; a read, a mute and a membership have none here
	of   string // the event that it edits, redacts, reacts to or reads up to

	thread   string // of a post: its root; of a read: a root, matrix.Main, or "" for no thread
	mentions []string
	all      bool
	silent   bool   // m.notice
	sort     string // of a post, if it is no m.room.message
	private  bool
	rule     string // kind of the rule that mutes
	enabled  bool
}

// room is a room and what users can refer to in it.
type room struct {
	id     string
	direct bool
	in     map[string]bool
	events []string // of the timeline, in order
}

// message has what the world keeps of a message or an edit.
type message struct {
	author, thread, edits string
	mentions              []string
	gone                  bool
	kind                  kind
}

// world is a Synapse with its users, and all their actions.
type world struct {
	t      *testing.T
	r      *rand.Rand
	server *matrix.Server
	users  map[string]*matrix.User
	names  []string // ids of users, in the order of their registration
	rooms  []*room
	acts   []act

	followed bool // by the bridge
	messages map[string]*message
	muted    map[string]bool // rules that exist, by user, kind and room
}

func newWorld(t *testing.T, r *rand.Rand, url string) *world {
	return &world{
		t: t, r: r, server: &matrix.Server{URL: url, Secret: servers.SynapseSecret}, users: map[string]*matrix.User{}, messages: map[string]*message{},
		muted: map[string]bool{},
	}
}

// register creates a user.
func (w *world) register(name string) string {
	w.t.Helper()
	u, err := w.server.Register(w.t.Context(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	w.users[u.ID] = u
	w.names = append(w.names, u.ID)
	return u.ID
}

// create creates a room. With an invited user it is a direct one.
func (w *world) create(by string, invited ...string) *room {
	w.t.Helper()
	id, err := w.users[by].CreateRoom(w.t.Context(), invited...)
	if err != nil {
		w.t.Fatal(err)
	}
	r := &room{id: id, direct: len(invited) > 0, in: map[string]bool{by: true}}
	w.rooms = append(w.rooms, r)
	w.acts = append(w.acts, act{kind: joins, room: r, user: by})
	return r
}

// String lists the actions, for the output of a failed run.
func (w *world) String() string {
	names := []string{"joins", "leaves", "renames", "posts", "edits", "reacts", "redacts", "reads", "mutes", "enables", "marks"}
	var b strings.Builder
	for i, a := range w.acts {
		fmt.Fprintf(&b, "%d %s %s %s %s of %s thread %s mentions %v", i, a.room.id, a.user, names[a.kind], a.id, a.of, a.thread, a.mentions)
		fmt.Fprintf(&b, " all %v silent %v %s private %v %s %v\n", a.all, a.silent, a.sort, a.private, a.rule, a.enabled)
	}
	return b.String()
}

// roots returns the messages that can be roots of threads.
func (w *world) roots() (roots []string) {
	for _, a := range w.acts {
		if a.kind == posts && a.thread == "" {
			roots = append(roots, a.id)
		}
	}
	return roots
}

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }
