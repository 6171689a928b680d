package rocketchat

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/source"
)

// kept is how long messages are known: Tidemark finds older ones by no id.
const kept = 97 * 24 * time.Hour

// subscription is a member of a room.
type subscription struct {
	Room, User string
	Direct     bool     `json:",omitempty"`
	Seen       int64    `json:",omitempty"` // up to when they have viewed the room
	Set        int64    `json:",omitempty"` // when that was set
	Updated    int64    `json:",omitempty"` // version of the document
	Muted      bool     `json:",omitempty"`
	Threads    []string `json:",omitempty"` // with something unread
}

// subscriptionOf returns what is known of a subscription by its document alone.
func subscriptionOf(row *source.Row) *subscription {
	return &subscription{
		Room: row.Text("rid"), User: row.Text("u._id"), Seen: millis(row, "ls"), Updated: millis(row, "_updatedAt"),
		Muted: muted(row), Threads: texts(row, "tunread"),
	}
}

// message is a message that was written.
type message struct {
	Room, User string
	At         int64
	Plain      bool     `json:",omitempty"` // it counts in the room, and is there
	Followers  []string `json:",omitempty"` // of a thread's root
	Last       int64    `json:",omitempty"` // reply of the thread
	Updated    int64    `json:",omitempty"` // version of the document
}

// messageOf returns what is known of a message by its document.
func messageOf(row *source.Row) *message {
	var none importer.Problems
	e, ok := product.RocketChatPost(row, &none)
	return &message{
		Room: row.Text("rid"), User: row.Text("u._id"), At: millis(row, "ts"), Followers: texts(row, "replies"), Last: millis(row, "tlm"), Updated: millis(row, "_updatedAt"),
		Plain: ok && !e.Silent && e.Until == 0 && e.Thread == "",
	}
}

// memory is what is known, by the ids of the documents.
type memory struct {
	subscriptions map[string]*subscription
	messages      map[string]*message
	members       map[[2]string]*subscription // by room and user
	at            map[string]string           // the message of a time, by room and time
	newest        map[string]int64            // version of a document in the dump, by collection
	changed       map[string]string           // what has to be remembered; "": forgotten
	oldest        int64
}

func moment(room string, at int64) string { return room + "\x00" + strconv.FormatInt(at, 10) }

func (m *memory) setSubscription(id string, s *subscription) {
	m.subscriptions[id], m.members[[2]string{s.Room, s.User}] = s, s
}

func (m *memory) setMessage(id string, x *message) {
	if m.messages[id] = x; x.Plain {
		m.at[moment(x.Room, x.At)] = id
	} else if name := moment(x.Room, x.At); m.at[name] == id {
		delete(m.at, name)
	}
}

// remember writes down what is known of a document now; nil forgets it.
func (m *memory) remember(kind, id string, known any) {
	m.changed[kind+id] = ""
	if known != nil {
		b, _ := json.Marshal(known) // of texts and numbers
		m.changed[kind+id] = string(b)
	}
}

// The kinds of what is remembered, which begin its name.
const (
	ofSubscription = "s/"
	ofMessage      = "m/"
)

// read knows what the dump has.
func (m *memory) read(ctx context.Context, dump source.Tables) error {
	m.newest = map[string]int64{"rocketchat_subscription": 0, "rocketchat_message": 0}
	direct := map[string]bool{}
	if _, err := dump.Rows(ctx, "rocketchat_room", product.RocketChatRooms, func(row *source.Row) error {
		direct[row.Text("_id")] = row.Text("t") == "d"
		return nil
	}); err != nil {
		return err
	}
	if _, err := dump.Rows(ctx, "rocketchat_subscription", "_id "+product.RocketChatSubscriptions, func(row *source.Row) error {
		s := subscriptionOf(row)
		s.Direct, s.Set = direct[s.Room], s.Seen
		m.setSubscription(row.Text("_id"), s)
		m.newest[row.Table] = max(m.newest[row.Table], s.Updated)
		return nil
	}); err != nil {
		return err
	}
	_, err := dump.Rows(ctx, "rocketchat_message", product.RocketChatMessages+" _updatedAt", func(row *source.Row) error {
		m.newest[row.Table] = max(m.newest[row.Table], millis(row, "_updatedAt"))
		if at := millis(row, "ts"); at >= m.oldest {
			m.setMessage(row.Text("_id"), messageOf(row))
		}
		return nil
	})
	for _, s := range m.subscriptions { // who marked a message as unread has their pointer at it
		if id := m.at[moment(s.Room, s.Seen)]; id != "" && m.messages[id].User != s.User {
			s.Seen--
		}
	}
	return err
}

// Restore knows what an earlier session has remembered.
func (m *memory) Restore(known map[string]string) {
	for name, text := range known {
		if id, is := strings.CutPrefix(name, ofSubscription); is {
			var s subscription
			if json.Unmarshal([]byte(text), &s) == nil {
				if s.Room == "" { // a member of the dump who has left
					m.dropSubscription(id)
					continue
				}
				m.setSubscription(id, &s)
			}
		}
		if id, is := strings.CutPrefix(name, ofMessage); is {
			var x message
			if json.Unmarshal([]byte(text), &x) == nil {
				if x.At < m.oldest {
					m.changed[name] = ""
					continue
				}
				m.setMessage(id, &x)
			}
		}
	}
}

func (m *memory) dropSubscription(id string) {
	if s := m.subscriptions[id]; s != nil {
		delete(m.subscriptions, id)
		delete(m.members, [2]string{s.Room, s.User})
	}
}

// Changed returns what has to be remembered since the last call; "" is to be forgotten.
func (m *memory) Changed() map[string]string {
	changed := m.changed
	m.changed = map[string]string{}
	return changed
}

func millis(row *source.Row, field string) int64 {
	t, err := time.Parse(time.RFC3339Nano, row.Text(field))
	if err != nil {
		return 0
	}
	return t.UnixMilli()
}

func texts(row *source.Row, field string) (list []string) {
	_ = json.Unmarshal([]byte(row.Text(field)), &list) // another shape has none
	return list
}

func muted(row *source.Row) bool {
	return row.Text("disableNotifications") == "true" || row.Text("hideUnreadStatus") == "true"
}
