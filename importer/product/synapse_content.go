package product

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product/internal/synapse"
)

// synapseContent parses an event. Fields of another type than Matrix defines are left out: any
// client can write them.
func synapseContent(f fields, column string) (*synapse.Content, bool) {
	var event struct {
		Content synapse.Content `json:"content"`
	}
	err := json.Unmarshal([]byte(f.Text(column)), &event)
	var wrong *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &wrong) {
		f.problems.Add(f.origin(), "an event whose JSON is damaged: left out", f.Text("event_id"))
		return nil, false
	}
	return &event.Content, true
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
	if e.Until != 0 && synapse.Emptied(f.Text("json")) {
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
