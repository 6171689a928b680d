package frames

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzParse parses any bytes as a frame of a client: the answer to a refused one is JSON, has a
// code, and repeats no id above the limit; a valid one has no such id either.
func FuzzParse(f *testing.F) {
	for _, frame := range []string{
		``, `{}`, `null`, `[]`, `"mark_read"`, `{"type":1}`, `{"type":"mark_read","id":"1","channel_id":"general","message_id":"m1"}`,
		`{"type":"messages_read","message_ids":["a",null,"c"]}`, `{"type":"mark_unread","head_seq":-1}`, `{"id":"` + "\u2028" + `"}`,
		`{"type":"x","type":"y"}`, "{\"id\":\"\xff\"}", `{"muted":null}`, `{"id":7}`, `{"id":-1.5e3,"channel_id":1}`, `{"id":{}}`, `{"a":{"a":{"a":[[[[[[`,
	} {
		f.Add([]byte(frame))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := Parse(body)
		if len(c.ID) > 6*maxID+len(`""`) { // \u0000 is the longest encoding of a byte
			t.Errorf("an id of %d bytes", len(c.ID))
		}
		answer := Ack(c.ID, nil)
		if err != nil {
			answer = Failure(c.ID, err)
		}
		var got struct {
			Type, Code string
			ID         json.RawMessage
		}
		if e := json.Unmarshal(answer, &got); e != nil || !utf8.Valid(answer) {
			t.Fatalf("answered with %q: %v", answer, e)
		}
		if want := map[bool]string{true: "error", false: "ack"}[err != nil]; got.Type != want || string(got.ID) != string(c.ID) || (err != nil && got.Code != Invalid) {
			t.Errorf("answered with %s", answer)
		}
	})
}
