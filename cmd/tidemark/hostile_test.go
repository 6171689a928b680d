package main

import (
	"testing"
	"time"
	"unicode"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor"
)

// Whoever may write to a topic writes no commands to the terminal of who looks into it: whatever a
// letter has in its key, value and headers, no verb prints a control character, JSON or not.
func TestHostileLettersMoveNoCursor(t *testing.T) {
	s := newSite(t, embedded(t), 2)
	const evil = "\x1b[2J\u009b31m\r\u202e"
	r := letterAged(events.Reason("undecodable"+evil), evil, time.Second)
	r.Key = []byte(evil)
	for i, h := range r.Headers {
		if h.Key == processor.HeaderTopic {
			r.Headers[i].Value = []byte("chat.messages" + evil)
		}
	}
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: processor.HeaderDetail, Value: []byte(evil)})
	produce(t, s.broker, r)
	produce(t, s.broker, &kgo.Record{Topic: events.TopicMessages, Key: []byte(evil), Value: []byte(`{"channel_id":"a` + evil + `"}`)})
	for _, args := range [][]string{
		{"deadletters", "list"}, {"deadletters", "list", "--json"}, {"deadletters", "replay", "--dry-run"}, {"deadletters", "replay", "--dry-run", "--json"},
		{"deadletters", "list", "--reason", "undecodable" + evil},
		{"inspect", "topic", events.TopicMessages, "--records", "9"}, {"inspect", "topic", events.TopicMessages, "--records", "9", "--json"},
		{"inspect", "topic", events.TopicDeadLetters, "--records", "9"}, {"inspect", "topic", events.TopicDeadLetters, "--records", "9", "--json"},
	} {
		got := tidemark(t, "", append(args, "--brokers", s.broker)...)
		if got.out == "" {
			t.Errorf("%q prints nothing: %s", args, got.errout)
		}
		for _, r := range got.out + got.errout {
			if r != '\n' && unicode.IsControl(r) || r == 0x202e {
				t.Errorf("%q prints %q:\n%q", args, r, got.out+got.errout)
				break
			}
		}
	}
}
