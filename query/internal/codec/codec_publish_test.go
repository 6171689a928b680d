package codec

import (
	"strings"
	"testing"

	"github.com/tidemark/tidemark/query/ingestv1"
)

// The error for a bad event to publish has the field, the reason and the place, as in a dead
// letter, and nothing of the event's text.
func TestBadJSONToPublishNamesTheField(t *testing.T) {
	for body, want := range map[string]string{
		`{"events":[{"message":{"channel_id":42}}]}`:                                 `events[0].message.channel_id: is a number, must be a string (line 1, column 37)`,
		`{"events":[{},{"message":{"message_posted":{"preview":["secret"]}}}]}`:      `events[1].message.message_posted.preview: is an array, must be a string`,
		`{"events":[{"read":{"occurred_at":"2026-01-02 03:04:05"}}]}`:                `events[0].read.occurred_at: must be an RFC 3339 time`,
		`{"events":[{"message":{"message_posted":{"preview":"secret","silent":"no"}`: `events[0].message.message_posted.silent: is a string, must be true or false`,
		`{"events":`: `events: the JSON ends too early`,
	} {
		err := jsonCodec{"json"}.Unmarshal([]byte(body), new(ingestv1.PublishRequest))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}
