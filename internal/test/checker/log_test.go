package checker

import (
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// TestAtKnowsTheLogTime: At takes only the records of a channel and a user, but the log time that
// records of others have raised. Ann reads m1 by its id a second before the id leaves the index. What
// Bob read before that decides whether it has left.
func TestAtKnowsTheLogTime(t *testing.T) {
	posted := [][2]string{
		{events.TopicMessages, `{"channel_id":"general","occurred_at":"2025-03-01T00:00:00Z","members_joined":{"user_ids":["ann","bob"]}}`},
		{events.TopicMessages, `{"channel_id":"general","occurred_at":"2025-03-17T15:06:39Z","message_posted":{"message_id":"m1","sender_id":"bob"}}`},
	}
	bob := [2]string{events.TopicReads, `{"channel_id":"other","user_id":"bob","occurred_at":"2025-06-15T15:06:40Z","read_up_to":{"seq":1}}`}
	ann := [2]string{events.TopicReads, `{"channel_id":"general","user_id":"ann","occurred_at":"2025-06-15T15:06:38Z","messages_read":{"message_ids":["m1"]}}`}
	for _, c := range []struct {
		name   string
		reads  [][2]string
		unread uint32
	}{
		{"ann alone", [][2]string{ann}, 0},
		{"bob before her", [][2]string{bob, ann}, 1},
		{"bob after her", [][2]string{ann, bob}, 0},
	} {
		records := publishedLog(append(posted[:2:2], c.reads...)...)
		l := NewLog(projections.DefaultSettings(), 1, records)
		then, ok := l.At("ann", "general", events.Stamp{M: 2, R: int64(len(c.reads))}).View("ann", "general")
		now, _ := l.View("ann", "general")
		stored, _ := folded(t, records, -1).View("ann", "general")
		if !ok || then.Unread != c.unread || now.Unread != c.unread || stored.Unread != c.unread {
			t.Errorf("%s: At says %d unread, the model %d, the store %d, want %d", c.name, then.Unread, now.Unread, stored.Unread, c.unread)
		}
	}
}
