package product

import (
	"slices"
	"strings"
	"testing"
)

// discourseRows returns the chat of a small site, as rows of the queries.
func discourseRows() map[string]string {
	return map[string]string{
		"chat_channels.ndjson": `{"id":1,"chatable_type":"Category","deleted_at":null}
{"id":2,"chatable_type":"DirectMessage","deleted_at":"2026-01-09 00:00:00"}`,
		"user_chat_channel_memberships.ndjson": `{"user_id":10,"chat_channel_id":1,"last_read_message_id":4,"following":"t","muted":"t","created_at":"2026-01-01","updated_at":"2026-01-02","last_viewed_at":"2026-01-03"}
{"user_id":11,"chat_channel_id":1,"last_read_message_id":null,"following":"f","muted":"f","created_at":"2026-01-01","updated_at":"2026-01-02","last_viewed_at":"2026-01-03"}`,
		"user_chat_thread_memberships.ndjson": `{"user_id":10,"channel_id":1,"original_message_id":4,"last_read_message_id":5,"notification_level":2,"read_at":"2026-01-05","updated_at":"2026-01-06"}
{"user_id":11,"channel_id":1,"original_message_id":4,"last_read_message_id":null,"notification_level":1,"read_at":null,"updated_at":"2026-01-06"}`,
		"chat_messages.ndjson": `{"id":4,"chat_channel_id":1,"user_id":10,"created_at":"2026-01-04","deleted_at":null,"message":"root","root":null,"mentions":null,"mention_all":"t"}
{"id":5,"chat_channel_id":1,"user_id":11,"created_at":"2026-01-05","deleted_at":"2026-01-06","message":"@a","root":4,"mentions":"{10,12}","mention_all":"f"}
{"id":6,"chat_channel_id":1,"user_id":null,"created_at":"2026-01-05","deleted_at":null,"message":"gone","root":null,"mentions":null,"mention_all":"f"}`,
	}
}

func TestDiscourse(t *testing.T) {
	want := []string{
		"channel 1", "channel 2 direct", "ended 2 at 2026-01-09T00:00:00Z",
		"member 1 10 at 2026-01-01T00:00:00Z", "member 1 11 at 2026-01-01T00:00:00Z until 2026-01-02T00:00:00Z",
		"pointer 1 10 id 4 until 2026-01-03T00:00:00Z", "mute 1 10 at 2026-01-02T00:00:00Z",
		"pointer 1 10 id 5 thread 4 until 2026-01-06T00:00:00Z", "follow 1 10 thread 4 at 2026-01-05T00:00:00Z", "unfollow 1 11 thread 4 at 2026-01-06T00:00:00Z",
		"post 1 10 id 4 at 2026-01-04T00:00:00Z text root all",
		"post 1 11 id 5 thread 4 at 2026-01-05T00:00:00Z until 2026-01-06T00:00:00Z text @a mentions 10,12",
		"post 1 id 6 at 2026-01-05T00:00:00Z text gone silent",
	}
	got, problems, err := events(t, &Discourse{Source: folder(t, discourseRows())})
	if err != nil || len(problems) > 0 || !slices.Equal(got, want) {
		t.Errorf("%v, %+v\n%s", err, problems, strings.Join(got, "\n"))
	}
	for table := range discourseRows() {
		without := discourseRows()
		delete(without, table)
		name, _, _ := strings.Cut(table, ".")
		if _, _, err := events(t, &Discourse{Source: folder(t, without)}); err == nil || !strings.Contains(err.Error(), "no table "+name) {
			t.Errorf("without %s: %v", table, err)
		}
	}
}
