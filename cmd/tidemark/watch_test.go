package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// watch runs `query watch` until the returned function is called, which gives the exit code.
func watch(t *testing.T, args ...string) (*testkit.Output, func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	var out testkit.Output
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, append([]string{"tidemark", "query", "watch"}, args...), strings.NewReader(""), &out, io.Discard)
	}()
	return &out, func() int {
		cancel()
		return <-code
	}
}

func TestWatchPrintsALineForEachChange(t *testing.T) {
	s := stack(t)
	joined := ok(t, joinLine, "emit", "--brokers", s.Broker)
	out, stop := watch(t, "ann", "--addr", s.URL, "--after", lines(joined)[0])
	out.Await(t, "snapshot of 1 channel; total: 0 unread")
	ok(t, postLine("m1", "x"), "emit", "--brokers", s.Broker)
	out.Await(t, "general: unread 1, mentions 0") // and perhaps already how much of it she has on no device
	ok(t, `{"topic":"chat.messages","event":{"channel_id":"general","members_left":{"user_ids":["ann"]}}}`, "emit", "--brokers", s.Broker)
	out.Await(t, "general: left; total 0")
	if code := stop(); code != exitDone {
		t.Errorf("interrupted: exit %d", code)
	}
}

func TestWatchAsJSON(t *testing.T) {
	s := stack(t)
	ok(t, joinLine, "emit", "--brokers", s.Broker)
	out, stop := watch(t, "ann", "--addr", s.URL, "--json")
	out.Await(t, `"snapshot"`)
	ok(t, postLine("m1", "x"), "emit", "--brokers", s.Broker)
	out.Await(t, `"update"`)
	stop()
	for _, l := range lines(out.String()) {
		if !json.Valid([]byte(l)) {
			t.Errorf("not JSON: %q", l)
		}
	}
}

// When the node goes away for a while the watch goes on where it was.
func TestWatchIsTakenUpAgain(t *testing.T) {
	s := stack(t)
	ok(t, joinLine, "emit", "--brokers", s.Broker)
	out, stop := watch(t, "ann", "--addr", s.URL)
	out.Await(t, "snapshot")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	out.Await(t, "trying again")
	if code := stop(); code != exitDone {
		t.Errorf("interrupted while it tries: exit %d", code)
	}
}
