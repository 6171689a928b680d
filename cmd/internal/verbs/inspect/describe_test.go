package inspect

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

func TestRecordsOfAllTopicsAreDescribed(t *testing.T) {
	delta := events.AppendUnreadDelta(nil, &events.UnreadDelta{UserID: []byte("ann"), ChannelID: []byte("c"), Large: true,
		Stamp: events.Stamp{FoldVersion: 1, M: 2, R: 3}})
	channel := events.AppendChannelRecord(nil, &events.ChannelRecord{ChannelID: []byte("c"), HeadSeq: 4, HeadPos: 3, Deleted: true})
	for _, c := range []struct {
		topic, value, kind, what string
	}{
		{events.TopicMessages, `{"channel_id":"c","message_posted":{"message_id":"m","sender_id":"s","preview":"secret","mentions":["a","b"],"mention_all":true}}`,
			"message_posted", "channel c, message m, sender s, 2 mentions, mentions all"},
		{events.TopicMessages, `{"channel_id":"c","members_joined":{"user_ids":["a"],"count_history":true}}`,
			"members_joined", "channel c, 1 users, history counts"},
		{events.TopicReads, `{"channel_id":"c","user_id":"u","read_up_to":{"seq":7,"read_epoch":2}}`, "read_up_to", "channel c, user u, seq 7, epoch 2"},
		{events.TopicReads, `{"channel_id":"c","user_id":"u","read_up_to":{"time":"2026-01-02T03:04:05Z"}}`, "read_up_to",
			"channel c, user u, time 2026-01-02T03:04:05Z"},
		{events.TopicReads, `{"channel_id":"c","user_id":"u","messages_read":{"message_ids":["a","b"]}}`, "messages_read", "channel c, user u, 2 messages"},
		{events.TopicReads, `{"channel_id":"c","user_id":"u","messages_read":{"message_ids":["a"]}}`, "messages_read", "channel c, user u, 1 message"},
		{events.TopicReads, `{"channel_id":"c","user_id":"u","channel_muted":{"muted":true}}`, "channel_muted", "channel c, user u, muted true"},
		{events.TopicDeliveries, `{"channel_id":"c","user_id":"u","delivered":{"up_to_message_id":"m"}}`, "delivered", "channel c, user u, up to m"},
		{events.TopicUnread, string(delta), "unread", "user ann, channel c, large, no member, stamp 1.2.3.0"},
		{events.TopicChannels, string(channel), "channel", "channel c, head 4 (pos 3), 0 members, deleted, stamp 0.0.0.0"},
		{events.TopicReads, "", "tombstone", ""},
		{events.TopicReads, `{"channel_id":"c"}`, "bad", "no_kind: no kind that version 2 knows is set"},
		{events.TopicUnread, "\xff", "bad", "undecodable"},
		{"other", "x", "unknown", ""},
	} {
		var d recordDecoder
		got := d.describe(&kgo.Record{Topic: c.topic, Key: []byte("u\x00c"), Value: []byte(c.value), Timestamp: time.UnixMilli(1.8e12)})
		if got.Kind != c.kind || !strings.HasPrefix(got.What, c.what) || got.Kind != "bad" && got.What != c.what || got.Key != "u|c" || got.Bytes != len(c.value) {
			t.Errorf("%s %q: %q, %q; want %q, %q", c.topic, c.value, got.Kind, got.What, c.kind, c.what)
		}
	}
}
