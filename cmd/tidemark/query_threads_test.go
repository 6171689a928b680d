package main

import (
	"strings"
	"testing"
)

func TestQueryThreads(t *testing.T) {
	s := stack(t)
	input := strings.Join([]string{
		joinLine, postLine("m1", "root"),
		`{"topic":"chat.messages","event":{"channel_id":"general","message_posted":{"message_id":"r1","sender_id":"bob","thread_id":"m1","preview":"a reply","mentions":["ann"]}}}`,
	}, "\n")
	after := []string{"--addr", s.URL, "--after", strings.Join(lines(ok(t, input, "emit", "--brokers", s.Broker)), ",")}
	args := func(verb ...string) []string { return append(append([]string{"query"}, verb...), after...) }

	out := ok(t, "", args("threads", "ann")...)
	for _, want := range []string{"general  m1           1         1  #2 r1", "bob: a reply"} {
		if !strings.Contains(out, want) {
			t.Errorf("threads: %q is not in\n%s", want, out)
		}
	}
	if out := ok(t, "", args("threads", "nobody")...); !strings.HasPrefix(out, "total: 0 unread") {
		t.Errorf("threads of nobody: %q", out)
	}
	if out := ok(t, "", args("threads", "ann", "--json")...); !strings.Contains(out, `"thread_id":"m1"`) {
		t.Errorf("threads --json: %s", out)
	}
	if out := ok(t, "", args("inbox", "ann")...); !strings.Contains(out, "1 unread in threads, 1 mention there") {
		t.Errorf("inbox:\n%s", out)
	}
	if out := ok(t, "", args("explain", "ann", "general", "--thread", "m1")...); !strings.Contains(out, "messages     r1") {
		t.Errorf("explain:\n%s", out)
	}
}
