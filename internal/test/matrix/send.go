package matrix

import (
	"context"
	"maps"
	"net/http"
)

// Message is what a user sends. The zero value of Kind is m.room.message, and of Type m.text.
type Message struct {
	Kind, Type, Body, Thread, Edits, Reacts string
	Mentions                                []string
	Everybody                               bool
}

// Send sends a message, an edit or a reaction.
func (u *User) Send(ctx context.Context, room string, m Message) (id string, err error) {
	kind := m.Kind
	if kind == "" {
		kind = "m.room.message"
	}
	mentions := map[string]any{}
	if len(m.Mentions) > 0 {
		mentions["user_ids"] = m.Mentions
	}
	if m.Everybody {
		mentions["room"] = true
	}
	content := map[string]any{"body": m.Body, "m.mentions": mentions}
	if kind == "m.room.message" {
		content["msgtype"] = "m.text"
		if m.Type != "" {
			content["msgtype"] = m.Type
		}
	}
	relation := ""
	related := map[string]any{}
	switch {
	case m.Edits != "":
		relation, related["event_id"] = "m.replace", m.Edits
		content["m.new_content"] = maps.Clone(content)
	case m.Reacts != "":
		relation, related["event_id"], related["key"] = "m.annotation", m.Reacts, m.Body
		kind, content = "m.reaction", map[string]any{}
	case m.Thread != "":
		relation, related["event_id"] = "m.thread", m.Thread
	}
	if relation != "" {
		related["rel_type"] = relation
		content["m.relates_to"] = related
	}
	return u.event(ctx, inRoom(room, "send", kind, u.transaction()), content)
}

// Redact redacts an event.
func (u *User) Redact(ctx context.Context, room, event string) (id string, err error) {
	return u.event(ctx, inRoom(room, "redact", event, u.transaction()), map[string]any{})
}

func (u *User) event(ctx context.Context, path string, content map[string]any) (id string, err error) {
	var sent struct {
		ID string `json:"event_id"`
	}
	err = u.do(ctx, http.MethodPut, path, content, &sent)
	return sent.ID, err
}
