package main

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// replyLine is a reply in the thread of m1 that makes ann and bob follow it, and one that bob has
// not read.
var threadStory = strings.Join([]string{story,
	`{"topic":"chat.messages","event":{"channel_id":"general","message_posted":{"message_id":"r1","sender_id":"bob","thread_id":"m1","mentions":["ann"]}}}`,
	`{"topic":"chat.reads","event":{"channel_id":"general","user_id":"ann","read_up_to":{"message_id":"r1","thread_id":"m1"}}}`,
	`{"topic":"chat.messages","event":{"channel_id":"general","message_posted":{"message_id":"r2","sender_id":"ann","thread_id":"m1"}}}`,
}, "\n")

// verify finds a thread that is wrong, one that is missing, one that should not be there and a
// pointer that is wrong; and what it takes out the cache brings back.
func TestVerifyThreads(t *testing.T) {
	s := newSite(t, testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: testkit.Redis(t).URL}, 2)
	o, err := redis.ParseURL(s.redis)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(o)
	defer rdb.Close()
	ctx := t.Context()
	const field = "general\x00m1"
	// cached lets a node run until Redis holds the threads.
	cached := func(input string) {
		t.Helper()
		url, stop := s.run()
		awaitReady(t, url)
		if input != "" {
			ok(t, input, "emit", "--brokers", s.broker)
		}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			ann, bob := rdb.HGet(ctx, "inbox-threads:ann", field).Val(), rdb.HGet(ctx, "inbox-threads:bob", field).Val()
			if strings.Contains(ann, `"last_read_seq":5,`) && strings.Contains(bob, `{"unread":1,`) && strings.Contains(bob, `"latest_seq":5`) &&
				rdb.HGet(ctx, "thread-read:ann:m1", "last_read_id").Val() == "r2" && rdb.Exists(ctx, "thread-read:bob:m1", "tidemark:epoch").Val() == 2 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("Redis never holds the threads: ann %s, bob %s", ann, bob)
			}
		}
		s.drained(rdb)
		stop()
	}
	cached(threadStory)
	if r := s.verb("verify", "--redis", s.redis); r.code != exitDone || !strings.Contains(r.out, "2 followed threads compared, 0 differences") {
		t.Fatalf("%+v", r)
	}

	value := rdb.HGet(ctx, "inbox-threads:bob", field).Val()
	rdb.HSet(ctx, "inbox-threads:bob", field, strings.Replace(value, `"unread":1,`, `"unread":9,`, 1))
	rdb.HSet(ctx, "inbox-threads:nobody", field, value)
	rdb.HDel(ctx, "inbox-threads:ann", field)
	rdb.HSet(ctx, "thread-read:bob:m1", "last_read_id", "m2")
	r := s.verb("verify", "--redis", s.redis)
	if r.code != exitDifferences {
		t.Fatalf("%+v", r)
	}
	for _, want := range []string{
		`user "bob": inbox-threads:bob, thread m1, unread is 9, the topics say 1`,
		`user "nobody": inbox-threads:nobody, thread m1, the entry is there, with unread 1, the topics say none: the user does not follow it`,
		`user "ann": inbox-threads:ann, thread m1, the entry is missing, the topics say there, with unread 0`,
		`user "bob": thread-read:bob:m1, the pointer is message "m2" at `,
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("not told: %s", want)
		}
	}
	if !strings.Contains(r.out, "4 differences") {
		t.Errorf("want 4 differences:\n%s", r.out)
	}
	rdb.HSet(ctx, "read-pointer:ann:general", "last_read_id", "m9")
	if r := s.verb("verify", "--redis", s.redis, "--repair", "--yes"); r.code != exitDifferences || !strings.Contains(r.out, "5 differences") {
		t.Fatalf("--repair: %+v", r)
	}
	cached("")
	if r := s.verb("verify", "--redis", s.redis); r.code != exitDone {
		t.Errorf("after the repair: %+v", r)
	}
}
