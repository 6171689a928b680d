package events_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidemark/tidemark/events"
)

// An error about bad JSON has the field, the fault and the place, and nothing of the value.
func TestBadJSONNamesTheField(t *testing.T) {
	for _, c := range []struct{ input, value, want string }{
		{"message", `{"channel_id": 42}`, `channel_id: is a number, must be a string (line 1, column 16)`},
		{"message", `{"channelId": null, "channel_id": ["secret"]}`, `channel_id: stands there twice (line 1, column 21)`},
		{"message", `{"channel_id":{"secret":1}}`, `channel_id: is an object, must be a string (line 1, column 15)`},
		{"message", "{\n  \"message_posted\": {\"message_id\": 7}\n}", `message_posted.message_id: is a number, must be a string (line 2, column 36)`},
		{"message", "{\n\t\"é\": \"é\", \"messagePosted\": {\"silent\": \"secret\"}\n}", `message_posted.silent: is a string, must be true or false (line 2, column 40)`},
		{"message", `{"message_posted":{"mentions":["a","b",3]}}`, `message_posted.mentions[2]: is a number, must be a string (line 1, column 40)`},
		{"message", `{"message_posted":{"mentions":[null]}}`, `message_posted.mentions[0]: is null, must be a string (line 1, column 32)`},
		{"message", `{"message_posted":{"mentions":"secret"}}`, `message_posted.mentions: is a string, must be an array (line 1, column 31)`},
		{"message", `{"message_posted":["secret"]}`, `message_posted: is an array, must be an object (line 1, column 19)`},
		{"message", `{"occurred_at":"2026-01-02 03:04:05"}`, `occurred_at: must be an RFC 3339 time, such as "2026-01-02T03:04:05.678Z": a T, no space, between date and time (line 1, column 16)`},
		{"message", `{"occurred_at":1767323045678}`, `occurred_at: is a number, must be a string with an RFC 3339 time, such as "2026-01-02T03:04:05.678Z" (line 1, column 16)`},
		{"message", `{"occurred_at":"secret"}`, `occurred_at: must be an RFC 3339 time, such as "2026-01-02T03:04:05.678Z" (line 1, column 16)`},
		{"message", `{"message_posted":{},"channel_deleted":{}}`, `channel_deleted: stands beside message_posted, and there may be only one of them (line 1, column 40)`},
		{"message", `{"message_posted":{"preview":"secret`, `message_posted.preview: the JSON ends too early (line 1, column 37)`},
		{"message", `{"message_posted":{"preview":"secret" "x":1}}`, `message_posted: no valid JSON (line 1, column 39)`},
		{"message", `{"channel_id":"c"} {"secret":1}`, `there is more after the end of the object (line 1, column 20)`},
		{"message", "{\"channel_id\":\"\xff\"}", `channel_id: text that is not valid UTF-8 (line 1, column 15)`},
		{"message", `{"x":["\ud800"]}`, `text that is not valid UTF-8 (line 1, column 7)`},
		{"message", `{"x":` + strings.Repeat("[", 1<<20), `nested too deeply`},
		{"read", `{"read_up_to":{"seq":-1}}`, `read_up_to.seq: must be an integer from 0 to 4294967295 (line 1, column 22)`},
		{"read", `{"read_up_to":{"seq":"secret"}}`, `read_up_to.seq: must be an integer from 0 to 4294967295 (line 1, column 22)`},
		{"read", `{"read_up_to":{"seq":1.5}}`, `read_up_to.seq: must be an integer from 0 to 4294967295`},
		{"read", `{"read_up_to":{"seq":true}}`, `read_up_to.seq: is true or false, must be an integer from 0 to 4294967295`},
		{"read", `{"user_id":false}`, `user_id: is true or false, must be a string (line 1, column 12)`},
		{"delivery", `{"delivered":{"up_to_message_id":7}}`, `delivered.up_to_message_id: is a number, must be a string (line 1, column 34)`},
	} {
		t.Run(c.want, func(t *testing.T) {
			err := decodeAny(c.input, []byte(c.value))
			want := "bad event: undecodable: " + c.want
			if err == nil || !strings.HasPrefix(err.Error(), want) || events.ReasonOf(err) != events.ReasonUndecodable {
				t.Errorf("%s\ngot  %v\nwant %s", c.value, err, want)
			}
			checkSafe(t, err)
		})
	}
}

func decodeAny(input string, value []byte) error {
	var d events.Decoder
	switch input {
	case "message":
		return d.Message(value, record, new(events.Message))
	case "read":
		return d.Read(value, record, new(events.Read))
	default:
		return d.Delivery(value, record, new(events.Delivery))
	}
}

// maxErrorText is far above what any error of the decoder needs.
const maxErrorText = 400

// checkSafe checks that the text of an error is short, is text, and contains no secret value.
func checkSafe(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if s := err.Error(); len(s) > maxErrorText || !utf8.ValidString(s) || strings.Contains(s, "secret") || strings.ContainsAny(s, "\n\r\x1b") {
		t.Errorf("%q: want a short line without the value", s)
	}
}

// FuzzWhyNotJSON: for any value the error is short, always the same, and without the value.
func FuzzWhyNotJSON(f *testing.F) {
	for _, s := range []string{`{"channel_id":7}`, `{"message_posted":{"preview":["secret"]}}`, "{\"a\":\"\x00\"}", `{`, `{"a":[[{"b":{}}],1e999]}`, `{"\ud800":1}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, input := range []string{"message", "read", "delivery"} {
			value := []byte("{" + s)
			err := decodeAny(input, value)
			again := decodeAny(input, value)
			if (err == nil) != (again == nil) || err != nil && err.Error() != again.Error() {
				t.Errorf("%q: %v, then %v", value, err, again)
			}
			if events.ReasonOf(err) == events.ReasonUndecodable {
				if text := err.Error(); len(text) > maxErrorText || strings.Contains(s, "secret") && strings.Contains(text, "secret") {
					t.Errorf("%q: %s", value, text)
				}
			}
		}
	})
}
