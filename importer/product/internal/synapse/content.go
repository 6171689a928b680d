package synapse

import "encoding/json"

// Content is what an import reads of the content of a Matrix event.
type Content struct {
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
	Edited *Content `json:"m.new_content"`
}

// Thread returns the first message of the thread that a message is in, "" if it is in none.
func (c *Content) Thread() string {
	if c.Relates.Type == "m.thread" {
		return c.Relates.ID
	}
	return ""
}

// Emptied reports whether an event has no content any more. Only messages of type m.room.message
// have a msgtype, so a missing one does not say so.
func Emptied(text string) bool {
	var event struct {
		Content map[string]json.RawMessage `json:"content"`
	}
	return json.Unmarshal([]byte(text), &event) == nil && len(event.Content) == 0
}
