package gateway_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

func reader(f frame, user string) frame {
	for _, r := range f.list("readers") {
		if m, _ := r.(map[string]any); m["user_id"] == user {
			return frame(m)
		}
	}
	return nil
}

// readBy accepts a receipt frame that has a reader at a message.
func readBy(user, message string) func(frame) bool {
	return func(f frame) bool { r := reader(f, user); return r != nil && r["message_id"] == message }
}

// The sender of a message gets its delivery, when its frame was written to a member, and its reads.
// So do all members, but no other users. Large channels have no receipts.
func TestReceipts(t *testing.T) {
	s := start(t, dev.Config{Gateway: gateway.Config{ReceiptsEvery: time.Millisecond}})
	var crowd []string
	for i := range 60 {
		crowd = append(crowd, fmt.Sprintf("u%d", i))
	}
	emit(t, s.URL, joined("general", "ann", "bob", "cleo"), joined("crowd", append(crowd, "ann", "bob")...), joined("dans", "dan"))
	ann, bob, dan := dialed(t, s.URL, "ann"), dialed(t, s.URL, "bob"), dialed(t, s.URL, "dan")
	emit(t, s.URL, posted("crowd", "c1", "bob"), posted("general", "m1", "bob"))
	if f := bob.until("receipt.delivered", "general", readBy("ann", "m1")); reader(f, "ann").number("seq") != 1 || reader(f, "ann").text("at") == "" {
		t.Errorf("delivered: %v", f)
	}
	ann.until("message.new", "crowd")
	ann.do("mark_read", `"channel_id":"crowd","message_id":"c1"`)
	ann.do("mark_read", `"channel_id":"general","message_id":"m1"`)
	for _, c := range []*client{bob, ann} {
		if f := c.until("receipt.read", "general", readBy("ann", "m1")); reader(f, "ann").number("seq") != 1 || reader(f, "ann").text("at") == "" {
			t.Errorf("read: %v", f)
		}
	}
	// cleo was offline all the time, and the message is queued for her. A private read is shown
	// only to her. She connects only after the message was judged, because otherwise it would not
	// be queued.
	offlineUnread(t, s.URL, "cleo", "general", 1)
	cleo := dialed(t, s.URL, "cleo")
	for f := cleo.seen[1]; ; f = cleo.until("unread.updated", "general") {
		if list := f.list("channels"); len(list) == 1 {
			f = frame(list[0].(map[string]any))
		}
		if f.number("offline_unread") == 1 {
			break
		}
	}
	cleo.do("mark_read", `"channel_id":"general","message_id":"m1","private":true`)
	cleo.until("unread.updated", "general", unreadIs(0))
	f := bob.do("read_state", `"channel_id":"general"`)
	if f["type"] != "read_state" || len(f.list("readers")) != 3 || reader(f, "ann").text("message_id") != "m1" || reader(f, "cleo").number("seq") != 0 {
		t.Errorf("read_state: %v", f)
	}
	if f := dan.do("read_state", `"channel_id":"general"`); f.text("code") != "not_found" {
		t.Errorf("read_state of somebody else's channel: %v", f)
	}
	for _, c := range []*client{ann, bob, cleo, dan} {
		if c.sees("receipt.read", "crowd") || c.sees("receipt.delivered", "crowd") {
			t.Error("receipts of a large channel")
		}
		for _, f := range c.seen {
			if f["type"] == "receipt.read" && reader(f, "cleo") != nil {
				t.Errorf("a private read: %v", f)
			}
		}
	}
	if dan.sees("receipt.read", "general") || dan.sees("receipt.delivered", "general") || dan.sees("receipt.delivered", "crowd") {
		t.Error("dan heard of a channel that is not theirs")
	}
}

// offlineUnread waits until a user's count of queued messages in a channel is want.
func offlineUnread(t *testing.T, url, user, channel string, want uint32) {
	t.Helper()
	ctx := within(t)
	for c := queryv1connect.NewQueryServiceClient(http.DefaultClient, url); ; {
		res, err := c.GetUnread(ctx, connect.NewRequest(&queryv1.GetUnreadRequest{UserId: user, ChannelId: channel}))
		if err == nil && res.Msg.OfflineUnread == want {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s in %s: %v, %v; want %d queued", user, channel, res, err, want)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// However fast users read, the gateway sends one frame for a channel and kind per ReceiptsEvery,
// with the furthest read of each user.
func TestReceiptsAreJoined(t *testing.T) {
	const every = 400 * time.Millisecond
	s := start(t, dev.Config{Gateway: gateway.Config{ReceiptsEvery: every}})
	emit(t, s.URL, joined("general", "ann", "bob", "cleo"))
	ann, bob, cleo := dialed(t, s.URL, "ann"), dialed(t, s.URL, "bob"), dialed(t, s.URL, "cleo")
	const messages = 30
	began := time.Now()
	for i := range messages {
		id := fmt.Sprintf("m%d", i+1)
		emit(t, s.URL, posted("general", id, "cleo"))
		for _, c := range []*client{ann, bob} {
			c.do("mark_read", fmt.Sprintf(`"channel_id":"general","message_id":%q`, id))
		}
	}
	last := fmt.Sprintf("m%d", messages)
	at := map[string]string{}
	for at["ann"] != last || at["bob"] != last {
		f := cleo.until("receipt.read", "general")
		for _, user := range []string{"ann", "bob"} {
			if r := reader(f, user); r != nil {
				at[user] = r.text("message_id")
			}
		}
	}
	frames := 0
	for _, f := range cleo.seen {
		if f["type"] == "receipt.read" {
			frames++
		}
	}
	if most := int(time.Since(began)/every) + 1; frames > most {
		t.Errorf("%d frames in %s", frames, time.Since(began))
	}
}
