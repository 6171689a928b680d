package main

import (
	"strings"
	"testing"

	"github.com/tidemark/tidemark/events"
)

// TestExamplesOfEmit: each event that the help shows is one that emit takes.
func TestExamplesOfEmit(t *testing.T) {
	taken := map[string]bool{}
	topic := events.TopicReads
	for line := range strings.Lines(emitCmd{}.Help()) {
		if _, named, ok := strings.Cut(line, "--topic chat."); ok {
			topic = "chat." + strings.Fields(named)[0]
		}
		from, to := strings.Index(line, "{\"channel_id\""), strings.LastIndex(line, "}")
		if from < 0 || strings.Contains(line[:from], `"event"`) {
			continue
		}
		p := lineParser{unknown: func(reason string) { t.Errorf("%s: %s", line, reason) }}
		if _, err := p.parse(topic, []byte(line[from:to+1])); err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		for word := range strings.SplitSeq(line[from:], `"`) {
			taken[word] = true
		}
	}
	for _, kind := range []string{"channel_updated", "notify_set", "flag_set", "channel_filed", "messages_hidden", "messages_viewed", "line_set", "labels_set"} {
		if !taken[kind] {
			t.Errorf("the help has no example of %s", kind)
		}
	}
}
