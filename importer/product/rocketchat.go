package product

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// RocketChat is a Rocket.Chat server's database in MongoDB.
type RocketChat struct {
	Source source.Tables

	marks   map[mark][]*importer.Event // pointers of users who may have marked a message as unread
	threads map[string]*rcThread       // by the id of the root
	unread  map[string]bool            // threads with unread replies, by root and user
}

// mark is the pointer of a user who marks a message as unread: the time of the message itself.
type mark struct {
	room string
	at   int64
}

// rcThread is a thread; its root lists its followers.
type rcThread struct {
	origin    importer.Origin
	room      string
	known     bool // the root was read
	followers []string
	last      int64
	took      map[string]bool // users who wrote or were mentioned in it
}

// The fields of documents that are read.
const (
	RocketChatRooms         = "_id t"
	RocketChatSubscriptions = "rid u._id ts ls alert unread userMentions groupMentions tunread disableNotifications hideUnreadStatus _updatedAt"
	RocketChatMessages      = "_id rid ts u._id msg t tmid tshow mentions editedAt _hidden parent replies tcount tlm"
)

const whatRocketChat = "the folder of a Rocket.Chat database that mongodump has written"

// Events reads the collections.
func (c *RocketChat) Events(ctx context.Context, p *importer.Problems, emit func(importer.Origin, *importer.Event) error) error {
	c.marks, c.threads, c.unread = map[mark][]*importer.Event{}, map[string]*rcThread{}, map[string]bool{}
	r := reading{c.Source, p, emit}
	if err := r.all(ctx, []table{
		{"rocketchat_room", RocketChatRooms, []string{"_id", "t"}, rcRoom},
		{"rocketchat_subscription", RocketChatSubscriptions, []string{"rid", "u._id", "ts"}, rcMember},
		{"rocketchat_subscription", RocketChatSubscriptions, []string{"rid", "u._id"}, rcMute},
		{"rocketchat_subscription", RocketChatSubscriptions, []string{"rid", "u._id", "ls", "alert", "tunread"}, c.pointer},
		{"rocketchat_message", RocketChatMessages, []string{"_id", "rid", "ts", "u._id"}, c.post},
	}, whatRocketChat); err != nil {
		return err
	}
	for _, at := range slices.SortedFunc(maps.Keys(c.marks), func(a, b mark) int { return cmp.Or(cmp.Compare(a.room, b.room), cmp.Compare(a.at, b.at)) }) {
		for _, e := range c.marks[at] {
			if err := emit(importer.Origin{Table: "rocketchat_subscription", Row: int64(e.Seq)}, unnumbered(e)); err != nil {
				return err
			}
		}
	}
	for _, root := range slices.Sorted(maps.Keys(c.threads)) {
		if err := c.follows(root, c.threads[root], emit); err != nil {
			return err
		}
	}
	return nil
}

// unnumbered removes the number of the row, which was kept for an event that waited.
func unnumbered(e *importer.Event) *importer.Event {
	x := *e
	x.Seq = 0
	return &x
}

func rcRoom(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindChannel, Channel: f.Text("_id"), Direct: f.Text("t") == "d"}
	return true
}

func rcMember(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindMember, Channel: f.Text("rid"), User: f.Text("u._id"), At: f.at("ts")}
	return true
}

func rcMute(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindMute, Channel: f.Text("rid"), User: f.Text("u._id")}
	return f.truth("disableNotifications") || f.truth("hideUnreadStatus")
}

// pointer maps the last view of a room. If something is unread, it waits until all messages are
// read, because the user may have marked the message at exactly the time of the view as unread.
func (c *RocketChat) pointer(f fields, e *importer.Event) bool {
	room, user := f.Text("rid"), f.Text("u._id")
	for _, root := range list(f.Text("tunread")) {
		c.unread[root+"\x00"+user] = true
	}
	*e = importer.Event{Kind: importer.KindPointer, Channel: room, User: user, At: f.at("ls")}
	e.Until = e.At
	if e.At > 0 && f.truth("alert") {
		wait := *e
		wait.Seq = uint32(f.Number)
		at := mark{room, e.At}
		c.marks[at] = append(c.marks[at], &wait)
		return false
	}
	return e.At > 0
}

// rcContent are the kinds of messages that people write; all other kinds are the server's.
var rcContent = []string{"", "e2e", "videoconf", "jitsi_call_started", "rm"}

func (c *RocketChat) post(f fields, e *importer.Event) bool {
	hidden := f.truth("_hidden")
	if hidden && f.Text("parent") != "" {
		return false // the text before an edit
	}
	kind, at := f.Text("t"), f.at("ts")
	*e = importer.Event{
		Kind: importer.KindPost, Channel: f.Text("rid"), ID: f.Text("_id"), User: f.Text("u._id"), Thread: f.Text("tmid"), At: at,
		Text: f.Text("msg"), Silent: !slices.Contains(rcContent, kind),
	}
	if e.Thread != "" && f.truth("tshow") {
		e.Broadcast, e.Quiet = true, true // Rocket.Chat shows it in the room, but does not count it
	}
	c.mentioned(f, e)
	switch {
	case kind == "rm" && number64(f.Text("tcount")) > 0:
		e.Silent = true // the replies remain, and the deletion of a root would end their thread
	case kind == "rm" || hidden:
		e.Until = max(f.at("editedAt"), at)
	}
	c.thread(f, e)
	for _, wait := range c.marks[mark{e.Channel, at}] {
		if at == wait.At && wait.User != e.User && !e.Silent && e.Until == 0 && e.Thread == "" {
			wait.At, wait.Quiet = at-1, true
		}
	}
	return true
}

// RocketChatPost maps a message for itself. It reports false for the text before an edit.
func RocketChatPost(row *source.Row, p *importer.Problems) (e importer.Event, ok bool) {
	c := &RocketChat{threads: map[string]*rcThread{}}
	ok = c.post(fields{row, p}, &e)
	return e, ok
}

// mentioned takes the users whom a message names. Teams are not mapped: their members are
// elsewhere.
func (c *RocketChat) mentioned(f fields, e *importer.Event) {
	text := f.Text("mentions")
	if text == "" {
		return
	}
	var names []struct {
		ID   string `json:"_id"`
		Type string `json:"type"`
	}
	if json.Unmarshal([]byte(text), &names) != nil {
		f.problems.Add(f.origin(), "mentions are no list of users: taken as none", e.ID)
		return
	}
	for _, n := range names {
		switch {
		case n.ID == "all" || n.ID == "here":
			e.MentionAll = true
		case n.ID != "" && n.ID != e.User && (n.Type == "" || n.Type == "user") && !slices.Contains(e.Mentions, n.ID):
			e.Mentions = append(e.Mentions, n.ID)
		}
	}
}

// thread takes the fields of a message about its thread.
func (c *RocketChat) thread(f fields, e *importer.Event) {
	root := cmp.Or(e.Thread, e.ID)
	followers := list(f.Text("replies"))
	if e.Thread == "" && len(followers) == 0 && number64(f.Text("tcount")) == 0 {
		return
	}
	t := c.threads[root]
	if t == nil {
		t = &rcThread{took: map[string]bool{}}
		c.threads[root] = t
	}
	if e.Thread == "" {
		t.origin, t.room, t.known, t.followers, t.last = f.origin(), e.Channel, true, followers, max(t.last, f.at("tlm"))
		t.took[e.User] = true
		return
	}
	t.last = max(t.last, e.At)
	t.took[e.User] = true
	for _, user := range e.Mentions {
		t.took[user] = true
	}
}

// follows emits the followers of a thread, and what they have read: all, or all except the last
// reply. Rocket.Chat does not store how many replies are unread.
func (c *RocketChat) follows(root string, t *rcThread, emit Emit) error {
	if !t.known {
		return nil
	}
	for _, user := range t.followers {
		read := t.last
		if c.unread[root+"\x00"+user] {
			read--
		}
		for _, e := range []importer.Event{
			{Kind: importer.KindFollow, Channel: t.room, User: user, Thread: root, At: read},
			{Kind: importer.KindPointer, Channel: t.room, User: user, Thread: root, At: read, Until: read},
		} {
			if err := emit(t.origin, &e); err != nil {
				return err
			}
		}
	}
	for _, user := range slices.Sorted(maps.Keys(t.took)) {
		if user == "" || slices.Contains(t.followers, user) {
			continue
		}
		if err := emit(t.origin, &importer.Event{Kind: importer.KindUnfollow, Channel: t.room, User: user, Thread: root, At: t.last}); err != nil {
			return err
		}
	}
	return nil
}

// rcSettings decide for each kind of room what unread counts: all messages, or only some mentions.
var rcSettings = map[string]struct{ id, value string }{
	"d": {"Unread_Count_DM", "all_messages"}, "l": {"Unread_Count_Omni", "all_messages"}, "": {"Unread_Count", "user_and_group_mentions_only"},
}

// Counts reads the numbers of the subscriptions. A setting of the server decides what they count.
func (c *RocketChat) Counts(ctx context.Context, users []string, p *importer.Problems, emit func(importer.Count) error) error {
	settings, kinds := map[string]string{}, map[string]string{}
	if _, err := c.Source.Rows(ctx, "rocketchat_settings", "_id value", func(row *source.Row) error {
		settings[row.Text("_id")] = row.Text("value")
		return nil
	}); err != nil {
		return err
	}
	if _, err := c.Source.Rows(ctx, "rocketchat_room", RocketChatRooms, func(row *source.Row) error {
		kinds[row.Text("_id")] = row.Text("t")
		return nil
	}); err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, user := range users {
		wanted[user] = true
	}
	read := counts{problems: p}
	found, err := c.Source.Rows(ctx, "rocketchat_subscription", RocketChatSubscriptions, func(row *source.Row) error {
		n := importer.Count{Channel: row.Text("rid"), User: row.Text("u._id")}
		unread, ok := read.number(row, "unread")
		if !ok || len(users) > 0 && !wanted[n.User] {
			return nil
		}
		ofUser, _ := read.number(row, "userMentions")
		ofGroup, _ := read.number(row, "groupMentions")
		setting, ok := rcSettings[kinds[n.Channel]]
		if !ok {
			setting = rcSettings[""]
		}
		mentions := ofUser + ofGroup
		n.Unread, n.Mentions, n.OnlyMentions = unread, &mentions, cmp.Or(settings[setting.id], setting.value) != "all_messages"
		return emit(n)
	})
	if err == nil && !found {
		return fmt.Errorf("the source has no table rocketchat_subscription: is it %s?", whatRocketChat)
	}
	return err
}
