package tutorials

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/internal/test/docs"
	"github.com/tidemark/tidemark/projections"
)

// publish writes events over HTTP. Each is an entry of the list of Publish, in JSON. It returns when
// the node has written all.
func publish(t *testing.T, url string, events ...string) {
	t.Helper()
	body := fmt.Sprintf(`{"events":[%s]}`, strings.Join(events, ","))
	req, err := http.NewRequestWithContext(limit(t), http.MethodPost, url+"/tidemark.ingest.v1.IngestService/Publish", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		var why any
		_ = json.NewDecoder(res.Body).Decode(&why) // the status says enough
		t.Fatalf("publish %s: %s: %v", body, res.Status, why)
	}
}

func posted(channel, id, more string) string {
	return fmt.Sprintf(`{"message":{"channel_id":%q,"message_posted":{"message_id":%q,"sender_id":"bob"%s}}}`, channel, id, more)
}

func joined(channel string, users ...string) string {
	return fmt.Sprintf(`{"message":{"channel_id":%q,"members_joined":{"user_ids":["%s"]}}}`, channel, strings.Join(users, `","`))
}

func didRead(channel, what string) string {
	return fmt.Sprintf(`{"read":{"channel_id":%q,"user_id":"ann","min_version":2,%s}}`, channel, what)
}

// The values of docs/redis.md have the same fields in the same order as those that a node writes
// after events that cause all of these fields.
func TestRedis(t *testing.T) {
	settings := projections.DefaultSettings()
	settings.FanoutLimit = 2
	s := stack(t, dev.Config{Settings: settings})
	o, err := redis.ParseURL(s.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(o)
	defer rdb.Close()
	values := rdb.Subscribe(limit(t), "unread:ann", "read-pointer:changes")
	defer values.Close()
	if _, err := values.Receive(limit(t)); err != nil {
		t.Fatal(err)
	}
	publish(t, s.URL, joined("muted", "ann", "bob"), posted("muted", "m1", ""), posted("muted", "m2", `,"mentions":["ann"]`),
		didRead("muted", `"read_up_to":{"message_id":"m1"},"instance_id":"phone"`), didRead("muted", `"notify_set":{"level":"NONE"}`),
		joined("large", "ann", "bob", "cem"), posted("large", "l1", ""), posted("large", "l2", `,"mentions":["ann"]`),
		joined("full", "ann", "bob"), posted("full", "f1", ""), posted("full", "f2", `,"mentions":["ann"]`),
		didRead("full", `"notify_set":{"level":"MENTIONS"}`), didRead("full", `"notify_set":{"level":"NONE","until":"2030-01-01T08:00:00Z","ignore_mention_all":true}`),
		didRead("full", `"flag_set":{"flagged":true,"head_seq":2}`), didRead("full", `"channel_filed":{"archived":true,"keep":true,"head_seq":2}`),
		didRead("full", `"line_set":{"message_id":"f1"}`), didRead("full", `"labels_set":{"labels":["a","b"]}`),
		joined("threads", "ann", "bob"), `{"message":{"channel_id":"threads","message_posted":{"message_id":"t1","sender_id":"ann"}}}`, posted("threads", "t2", `,"thread_id":"t1"`))

	shown := docs.Of(docs.Blocks("docs/redis.md", read(t, "docs/redis.md")), "json")
	if len(shown) != 5 {
		t.Fatalf("docs/redis.md has %d blocks in JSON: say here what each of them is", len(shown))
	}
	first := strings.SplitAfter(shown[0], "\n")
	for _, c := range []struct{ shown, what, key, field string }{
		{first[0], "a small channel", "inbox:ann", "muted"},
		{first[1], "a large channel", "inbox:ann", "large"},
		{shown[1], "a channel with all keys", "inbox:ann", "full"},
		{shown[2], "a thread", "inbox-threads:ann", "threads\x00t1"},
	} {
		same(t, c.what, c.shown, func(ctx context.Context) string { return rdb.HGet(ctx, c.key, c.field).Val() })
	}
	messages := values.Channel()
	same(t, "a delta of pub/sub", shown[3], func(ctx context.Context) string { return received(ctx, messages, "unread:ann") })
	publish(t, s.URL, didRead("large", `"read_up_to":{"message_id":"l1"},"instance_id":"phone"`))
	same(t, "a move of a pointer", shown[4], func(ctx context.Context) string { return received(ctx, messages, "read-pointer:changes") })
}

// received returns the next message of a channel of pub/sub.
func received(ctx context.Context, from <-chan *redis.Message, channel string) string {
	for {
		select {
		case m := <-from:
			if m != nil && m.Channel == channel {
				return m.Payload
			}
		case <-ctx.Done():
			return ""
		}
	}
}

// same waits until a value has the same fields in the same order as one that a page shows.
func same(t *testing.T, what, shown string, value func(context.Context) string) {
	t.Helper()
	want, err := docs.Names(shown)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	got := ""
	for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if v := value(ctx); v != "" {
			got = v
		}
		if names, err := docs.Names(got); err == nil && docs.SameNames(names, want) {
			return
		}
	}
	t.Errorf("%s: the page shows %s, and a node writes %s", what, shown, got)
}
