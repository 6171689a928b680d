package cache

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// The two users of docs/redis.md may do all that the cache role and a reader do, and no more than
// that.
func TestUsersOfTheDocument(t *testing.T) {
	doc, err := os.ReadFile("../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	url := testkit.Redis(t).URL
	admin := redisClient(t, url)
	for _, line := range regexp.MustCompile(`(?m)^ACL SETUSER .*$`).FindAllString(string(doc), -1) {
		var args []any
		for _, f := range strings.Fields(line) {
			args = append(args, f)
		}
		if err := admin.Do(t.Context(), args...).Err(); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	as := func(user string) *redis.Client {
		return redisClient(t, url, func(o *redis.Options) { o.Username, o.Password = user, "secret" })
	}
	kafka := testkit.FakeKafka(t)
	topics := testkit.Topics(t, kafka.ListenAddrs(), 1, 1)
	cl := producer(t, kafka.ListenAddrs())
	d := reading(small("u", "c", 1, 1), "m", 1, t0)
	produce(t, cl, topics, 1, unreadRecord(d), unreadRecord(left("u", "d", 1, 1)), unreadRecord(small("u", "e", 1, 0)),
		unreadRecord(inThread(reading(small("u", "c", 1, 1), "m", 1, t0), "t")),
		channelRecord(head("c", 1, 1)), channelRecord(&events.ChannelRecord{ChannelID: []byte("d"), Deleted: true, Stamp: events.Stamp{FoldVersion: 1, M: 1}}))
	m := start(t, kafka.ListenAddrs(), topics, as("tidemark-cache"))
	m.ready(t)
	produce(t, cl, topics, 1, unreadRecord(reading(small("u", "c", 2, 2), "m", 2, t0)), unreadTombstone("u", "e"))
	eventually(t, "all is applied", func() bool { return m.counted("applied") == 8 })

	reader := as("tidemark-reader")
	r := NewReader(reader)
	if _, _, err := r.Inbox(t.Context(), "u"); err != nil {
		t.Error(err)
	}
	if threads, err := r.Threads(t.Context(), "u"); err != nil || len(threads) != 1 {
		t.Error(threads, err)
	}
	if _, err := r.ThreadRead(t.Context(), "u", "t"); err != nil {
		t.Error(err)
	}
	if _, err := r.Unread(t.Context(), "u", "c"); err != nil {
		t.Error(err)
	}
	if _, err := r.Channel(t.Context(), "c"); err != nil {
		t.Error(err)
	}
	if _, err := r.ReadPointer(t.Context(), "u", "c"); err != nil {
		t.Error(err)
	}
	m.stop() // repeat with packed values
	packed := start(t, kafka.ListenAddrs(), topics, as("tidemark-cache"), func(c *Config) { c.Values = "packed" })
	packed.ready(t)
	if v, err := r.View(t.Context(), "u"); err != nil || len(v.Channels) == 0 || len(v.Threads) != 1 {
		t.Error(v, err)
	}
	if got, err := Called(t, reader, "u", t0); err != nil || got == nil {
		t.Errorf("the function says %v, %v", got, err)
	}
	sub := reader.Subscribe(t.Context(), UnreadChannel("u"), ReadPointerChanges)
	defer func() { _ = sub.Close() }()
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"reader writes":           reader.Del(t.Context(), "inbox:u").Err(),
		"reader reads other keys": reader.Get(t.Context(), "other").Err(),
		"cache reads other keys":  as("tidemark-cache").Get(t.Context(), "other").Err(),
		"cache empties Redis":     as("tidemark-cache").FlushAll(t.Context()).Err(),
	} {
		if !redis.HasErrorPrefix(err, "NOPERM") {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
}
