package gateway_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// No log of any level, no metric and no health page contains the text of messages, however it
// arrives: posted, edited, in a thread, in a bad record, or in a refused call or frame. From level
// info on they contain no user ids either, and no tokens (TestTokens).
func TestPrivacyCanary(t *testing.T) {
	const canary, person = "canary-7d1", "person-4c9"
	var log testkit.Output
	s, err := dev.Start(within(t), dev.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // a second close has no effect
	if err := s.AwaitReady(within(t)); err != nil {
		t.Fatal(err)
	}
	emit(t, s.URL, joined("general", "ann", person))
	c := dialed(t, s.URL, person)
	names := strings.NewReplacer("text of m1", canary)
	emit(t, s.URL, names.Replace(posted("general", "m1", "ann")),
		`{"message":{"channel_id":"general","message_edited":{"message_id":"m1","preview":"`+canary+` again","mentions":["`+person+`"]}}}`,
		`{"message":{"channel_id":"general","message_posted":{"message_id":"r1","sender_id":"ann","thread_id":"m1","preview":"`+canary+` in a thread"}}}`)
	c.until("message.new", "general", id("r1"))

	// Each topic gets bad records.
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.Broker), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	var bad []string
	for _, topic := range events.InputTopics {
		for _, value := range []string{
			canary, `{"channel_id":"general","user_id":"` + person + `","` + canary + `":1}`,
			`{"channel_id":"general","user_id":"` + person + `","message_posted":{"message_id":"","preview":"` + canary + `"}}`,
		} {
			r := &kgo.Record{Topic: topic, Key: []byte("general"), Value: []byte(value)}
			if err := cl.ProduceSync(within(t), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
			bad = append(bad, topic)
		}
	}
	// These calls and frames are refused.
	for path, body := range map[string]string{
		"/tidemark.query.v1.QueryService/GetUnread":   `{"user_id":"` + person + `","channel_id":"` + canary + `"}`,
		"/tidemark.ingest.v1.IngestService/Publish":   `{"events":[{"message":{"channel_id":"general","message_posted":{"message_id":"","preview":"` + canary + `"}}}]}`,
		"/tidemark.query.v1.QueryService/" + canary:   `{}`,
		"/tidemark.query.v1.QueryService/GetReceipts": `{"` + canary + `"`,
	} {
		res, err := http.Post(s.URL+path, "application/json", strings.NewReader(body)) //nolint:noctx // a test's own server
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode < 400 {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
	c.send(`{"type":"mark_read","channel_id":"general","message_id":"m1","preview":%q}`, canary)
	c.send(`{"type":"messages_read","channel_id":%q,"message_ids":["m1"]}`, canary)
	c.send(`{%q`, canary)
	c.do("mark_unread", `"channel_id":"general","message_id":"m1"`)
	emit(t, s.URL, posted("general", "m2", person)) // folded after everything above
	c.until("message.new", "general", id("m2"))

	pages := map[string]string{}
	for _, path := range []string{"/metrics", "/readyz", "/healthz"} {
		res, err := http.Get(s.URL + path) //nolint:noctx // a test's own server
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		pages[path] = string(b)
	}
	awaitDead(t, cl, len(bad))
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	pages["the log"] = log.String()
	if !strings.Contains(pages["the log"], "level=WARN") || !strings.Contains(pages["/metrics"], "tidemark_gateway_") {
		t.Error("there is nothing to look at")
	}
	for name, text := range pages {
		for line := range strings.Lines(text) {
			if strings.Contains(line, canary) {
				t.Errorf("%s has message text: %s", name, line)
			}
			if strings.Contains(line, person) && !strings.Contains(line, "level=DEBUG") {
				t.Errorf("%s has the id of a person: %s", name, line)
			}
		}
	}
}

// awaitDead waits until the dead letters have n records.
func awaitDead(t *testing.T, cl *kgo.Client, n int) {
	t.Helper()
	cl.AddConsumeTopics(events.TopicDeadLetters)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for got := 0; got < n; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%d of %d dead letters: %v", got, n, err)
		}
		got += fetches.NumRecords()
	}
}
