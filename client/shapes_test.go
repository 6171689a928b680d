package client

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// Events and answers have the fields of docs/openapi.json.
func TestShapes(t *testing.T) {
	text, err := os.ReadFile("../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var api struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(text, &api); err != nil {
		t.Fatal(err)
	}
	schemas := api.Components.Schemas
	fields := func(name string) []string { return slices.Sorted(maps.Keys(schemas[name].Properties)) }

	kinds := map[string][]string{}
	for _, k := range []Kind{
		MessagePosted{}, MessageEdited{}, MessageDeleted{}, MessagesPurged{}, MembersJoined{}, MembersLeft{}, ChannelDeleted{}, MessagesSeeded{}, ChannelUpdated{},
		ReadUpTo{}, MessagesRead{}, MarkedUnread{}, ThreadFollowed{}, ThreadUnfollowed{}, ChannelMuted{}, NotifySet{}, FlagSet{}, ChannelFiled{}, MessagesHidden{},
		LineSet{}, MessagesViewed{}, LabelsSet{}, UserErased{}, Delivered{}, Queued{},
	} {
		of, name := k.kind()
		kinds[of] = append(kinds[of], name)
		typ := reflect.TypeOf(k)
		if got, want := jsonFields(typ), fields(typ.Name()); !slices.Equal(got, want) {
			t.Errorf("%s has %v, the schema %v", typ.Name(), got, want)
		}
	}
	for of, schema := range map[string]string{"message": "MessageEvent", "read": "ReadEvent", "delivery": "DeliveryEvent"} {
		heads := []string{"channel_id", "user_id", "occurred_at", "instance_id", "min_version"}
		want := slices.DeleteFunc(fields(schema), func(f string) bool { return slices.Contains(heads, f) })
		if slices.Sort(kinds[of]); !slices.Equal(kinds[of], want) {
			t.Errorf("kinds of %s are %v, the schema has %v", schema, kinds[of], want)
		}
	}

	for schema, answer := range map[string]any{
		"ChannelUnread": ChannelUnread{}, "ThreadUnread": ThreadUnread{}, "Totals": Totals{}, "ArchivedTotals": ArchivedTotals{}, "Latest": Latest{},
		"LastRead": LastRead{}, "MessageRef": MessageRef{}, "Filed": Filed{}, "GetInboxResponse": InboxPage{}, "GetThreadsResponse": ThreadsPage{},
		"ExplainUnreadResponse": Explanation{}, "Excluded": Excluded{}, "Pointer": Pointer{}, "GetChannelResponse": Channel{}, "GetReadersResponse": ReadersPage{},
		"Reader": Reader{}, "GetReceiptsResponse": Receipts{}, "Recipient": Recipient{}, "ListUserChannelsResponse": UserChannels{}, "UserChannel": UserChannel{},
	} {
		got := slices.DeleteFunc(jsonFields(reflect.TypeOf(answer)), func(f string) bool { return f == "stamp" }) // a gateway's alone
		if want := fields(schema); !slices.Equal(got, want) {
			t.Errorf("%T has %v, the schema %v", answer, got, want)
		}
	}
}

func jsonFields(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestEventsAsJSON(t *testing.T) {
	no := false
	at := time.Date(2026, 1, 2, 4, 4, 5, 678e6, time.FixedZone("", 3600))
	for _, v := range []struct {
		event       Event
		topic, want string
	}{
		{
			Event{ChannelID: "c", OccurredAt: at, Kind: MessagePosted{MessageID: "m1", SenderID: "bob", Mentions: []string{"ann"}, MarksRead: &no}}, "chat.messages",
			`{"message":{"channel_id":"c","message_posted":{"message_id":"m1","marks_read":false,"mentions":["ann"],"sender_id":"bob"},"occurred_at":"2026-01-02T03:04:05.678Z"}}`,
		},
		{
			Event{ChannelID: "c", UserID: "ann", InstanceID: "phone", Kind: ReadUpTo{MessageID: "m1", Private: true}}, "chat.reads",
			`{"read":{"channel_id":"c","instance_id":"phone","read_up_to":{"message_id":"m1","private":true},"user_id":"ann"}}`,
		},
		{Event{ChannelID: "c", UserID: "ann", Kind: Delivered{MessageID: "m1"}}, "chat.deliveries", `{"delivery":{"channel_id":"c","delivered":{"message_id":"m1"},"user_id":"ann"}}`},
		{Event{ChannelID: "c", Kind: ChannelDeleted{}}, "chat.messages", `{"message":{"channel_deleted":{},"channel_id":"c"}}`},
	} {
		text, err := json.Marshal(v.event)
		if err != nil || v.event.Topic() != v.topic {
			t.Errorf("%+v: topic %s, %v", v.event, v.event.Topic(), err)
		}
		var got, want any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(v.want), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s, want %s", text, v.want)
		}
	}
	if _, err := json.Marshal(Event{ChannelID: "c"}); err == nil {
		t.Error("an event without a kind was written")
	}
}

func TestLatestTokens(t *testing.T) {
	got := latest([]string{"chat.reads/0/7", "chat.messages/0/1", "chat.reads/0/12", "chat.reads/1/3", "chat.reads/0/9", "odd"})
	if want := []string{"chat.reads/0/12", "chat.messages/0/1", "chat.reads/1/3", "odd"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
