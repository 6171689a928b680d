package product

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/tidemark/tidemark/importer"
)

// matrixContent is what an import reads of the content of a Matrix event.
type matrixContent struct {
	Body    string `json:"body"`
	Type    string `json:"msgtype"`
	Direct  bool   `json:"is_direct"`
	Relates struct {
		Type string `json:"rel_type"`
		ID   string `json:"event_id"`
	} `json:"m.relates_to"`
	Mentions struct {
		Users []string `json:"user_ids"`
		Room  bool     `json:"room"`
	} `json:"m.mentions"`
	Edited *matrixContent `json:"m.new_content"`
}

// thread returns the first message of the thread that a message is in, "" if it is in none.
func (c *matrixContent) thread() string {
	if c.Relates.Type == "m.thread" {
		return c.Relates.ID
	}
	return ""
}

// synapseContent parses an event. Fields of another type than Matrix defines are left out: any
// client can write them.
func synapseContent(f fields, column string) (*matrixContent, bool) {
	var event struct {
		Content matrixContent `json:"content"`
	}
	err := json.Unmarshal([]byte(f.Text(column)), &event)
	var wrong *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &wrong) {
		f.problems.Add(f.origin(), "an event whose JSON is damaged: left out", f.Text("event_id"))
		return nil, false
	}
	return &event.Content, true
}

// emptied reports whether an event has no content any more. Only messages of type m.room.message
// have a msgtype, so a missing one does not say so.
func emptied(text string) bool {
	var event struct {
		Content map[string]json.RawMessage `json:"content"`
	}
	return json.Unmarshal([]byte(text), &event) == nil && len(event.Content) == 0
}

// post maps a message. An edit is no message of its own: it gives the message its text and
// mentions. Synapse removes the content of redacted events after some days, so their thread is
// unknown. They become silent, because otherwise they would read the room for their author.
func (s *Synapse) post(f fields, e *importer.Event) bool {
	content, ok := synapseContent(f, "json")
	if !ok || content.Relates.Type == "m.replace" {
		return false
	}
	if f.truth("wrong") {
		f.problems.Add(f.origin(), "a time before 1973 or ahead of the database's clock: taken as right after the event before", f.Text("event_id"))
	}
	kind := f.Text("type")
	*e = importer.Event{
		Kind: importer.KindPost, Channel: f.Text("room_id"), ID: f.Text("event_id"), User: f.Text("sender"), At: f.at("at"), Until: f.at("redacted_at"),
		Silent: content.Type == "m.notice",
		Quiet:  kind != "m.room.message" && kind != "m.room.encrypted",
	}
	if e.Until != 0 && emptied(f.Text("json")) {
		e.Silent, e.Emptied = true, true
	}
	if content.Relates.Type == "m.thread" && content.Relates.ID != e.ID {
		e.Thread = content.Relates.ID
	}
	if f.Text("edit") != "" {
		if edit, ok := synapseContent(f, "edit"); ok && edit.Edited != nil {
			content = edit.Edited
		}
	}
	e.Text, e.MentionAll = content.Body, content.Mentions.Room
	for _, user := range content.Mentions.Users {
		if user != e.User {
			e.Mentions = append(e.Mentions, user)
		}
	}
	if e.Thread != "" {
		for _, user := range append([]string{e.User, f.Text("root_sender")}, e.Mentions...) {
			s.follow(e.Channel, user, e.Thread)
		}
	}
	return true
}

// follow records that a thread matters to a user.
func (s *Synapse) follow(room, user, thread string) {
	at := room + "\x00" + user
	if user != "" && !slices.Contains(s.inside[at], thread) {
		s.inside[at] = append(s.inside[at], thread)
	}
}
