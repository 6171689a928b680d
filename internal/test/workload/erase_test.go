package workload

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// TestNothingComesOfWhoIsErased: every room of an erased user gets a members_left and a
// user_erased, and no later event is by or about the user. The other events continue, also in rooms
// that are empty now.
func TestNothingComesOfWhoIsErased(t *testing.T) {
	var records []*kgo.Record
	w := New(11, Company{Partitions: 2, People: 4, Busy: []int{3, 4}, Quiet: 6}, func(r *kgo.Record) { records = append(records, r) })
	w.Write(500)
	left, erased, channels := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, user := range w.Staff() {
		clear(left)
		clear(erased)
		clear(channels)
		for _, r := range records {
			if who, _ := named(t, r); slices.Contains(who, user) {
				channels[string(r.Key)] = true
			}
		}
		from := len(records)
		w.Erase(user)
		for _, r := range records[from:] {
			if r.Topic == events.TopicMessages {
				left[string(r.Key)] = true
			} else {
				erased[string(r.Key)] = true
			}
		}
		for channel := range channels {
			if !left[channel] || !erased[channel] {
				t.Errorf("%s is known in %s: left %t, erased %t", user, channel, left[channel], erased[channel])
			}
		}
		from = len(records)
		w.Write(500)
		for _, r := range records[from:] {
			if who, kind := named(t, r); slices.Contains(who, user) {
				t.Errorf("%s comes up in a %s of %s/%s after their end", user, kind, r.Topic, r.Key)
			}
		}
	}
	if len(w.Staff()) > 0 || len(channels) == 0 {
		t.Errorf("%v are left of the staff; the last one was of %d rooms", w.Staff(), len(channels))
	}
}

// named returns all users that a record names; none for a bad record, which is not folded.
func named(t *testing.T, r *kgo.Record) (users []string, kind string) {
	t.Helper()
	decode := func(m proto.Message) bool {
		if len(r.Value) > 0 && r.Value[0] == '{' {
			return protojson.Unmarshal(r.Value, m) == nil
		}
		return proto.Unmarshal(r.Value, m) == nil
	}
	switch r.Topic {
	case events.TopicMessages:
		var m eventsv1.MessageEvent
		if !decode(&m) || m.GetKind() == nil || m.ChannelId != string(r.Key) {
			return nil, "bad record"
		}
		users = append(users, m.GetMessagePosted().GetSenderId())
		users = append(users, m.GetMessagePosted().GetMentions()...)
		users = append(users, m.GetMessageEdited().GetMentions()...)
		users = append(users, m.GetMembersJoined().GetUserIds()...)
		users = append(users, m.GetMembersLeft().GetUserIds()...)
		return users, "message event"
	case events.TopicReads:
		var m eventsv1.ReadEvent
		if !decode(&m) || m.GetKind() == nil {
			return nil, "bad record"
		}
		return []string{m.UserId}, "read event"
	}
	var m eventsv1.DeliveryEvent
	if !decode(&m) || m.GetKind() == nil {
		return nil, "bad record"
	}
	return []string{m.UserId}, "delivery event"
}
