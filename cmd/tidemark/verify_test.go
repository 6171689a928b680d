package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/app/rebuild"
	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

func TestVerify(t *testing.T) {
	own(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env, 2)
		s.folded(story)
		r := s.verb("verify", "--redis", s.redis)
		if r.code != exitDone {
			t.Fatalf("%+v", r)
		}
		golden(t, "../verbs/verify-equal", s.same(r.out))

		s.tamper("ann", 3)
		o, err := redis.ParseURL(env.RedisURL)
		if err != nil {
			t.Fatal(err)
		}
		rdb := redis.NewClient(o)
		defer rdb.Close()
		ctx := t.Context()
		value, err := rdb.HGet(ctx, "inbox:bob", "general").Result()
		if err != nil {
			t.Fatal(err)
		}
		old := regexp.MustCompile(`"stamp":"[^"]*"`).ReplaceAllString(value, `"stamp":"1.0.0.0"`) // one that the store includes
		if err := rdb.HSet(ctx, "inbox:bob", "general", strings.Replace(value, `"unread":0`, `"unread":7`, 1), "nowhere", old).Err(); err != nil {
			t.Fatal(err)
		}
		if err := rdb.Del(ctx, "channel-latest:general").Err(); err != nil {
			t.Fatal(err)
		}
		files := listed(t, s.data)
		r = s.verb("verify", "--redis", s.redis)
		if r.code != exitDifferences {
			t.Fatalf("%+v", r)
		}
		golden(t, "../verbs/verify-different", s.same(r.out))
		if strings.Contains(r.out, "secret") {
			t.Errorf("the text of a message is shown:\n%s", r.out)
		}
		if now := listed(t, s.data); !slices.Equal(now, files) {
			t.Errorf("looking changed the data directory: %q, before %q", now, files)
		}
		var res rebuild.Result
		r = s.verb("verify", "--redis", s.redis, "--json", "--limit", "1")
		if err := json.Unmarshal([]byte(r.out), &res); err != nil || len(res.Differences) != 1 || res.Total < 5 {
			t.Errorf("--json: %+v, %v", r, err)
		}

		r = s.verb("verify", "--redis", s.redis, "--repair", "--yes")
		if r.code != exitDifferences || !strings.Contains(r.out, "the rebuilt store is in place") || !strings.Contains(r.out, "Redis: wrong values are removed") {
			t.Fatalf("--repair: %+v", r)
		}
		url, stop := s.run()
		awaitReady(t, url) // the cache may have filled Redis before the stores are open, and so in use
		s.cached()
		if r := s.verb("verify", "--redis", s.redis); r.code != exitFailed || !strings.Contains(r.errout, "is in use: stop the node first, or name it with --node") {
			t.Errorf("while the node runs: %+v", r)
		}
		stop()
		if r := s.verb("verify", "--redis", s.redis); r.code != exitDone {
			t.Errorf("after the repair: %+v", r)
		}
	})
}

// A store that stayed behind when its partition moved says nothing of what others folded since.
func TestVerifyOfAnEarlierStore(t *testing.T) {
	s := newSite(t, embedded(t), 2)
	url, stop := s.run()
	awaitReady(t, url)
	stop()
	earlier := s.data
	s.data = filepath.Join(t.TempDir(), "data")
	s.folded(story)
	s.data = earlier
	r := s.verb("verify", "--redis", s.redis, "--json")
	var res rebuild.Result
	if err := json.Unmarshal([]byte(r.out), &res); err != nil || r.code != exitDone || res.Total != 0 || res.Redis.Newer != 3 {
		t.Errorf("two inboxes and a channel are newer than the store: %+v", r)
	}
}

// TestVerifyOfAStoreThatIsBehind: a partition has moved away, and its old store is compared while
// Redis goes on: what was taken out of Redis, or changed without a new message, is newer too, for
// as long as the store is kept: also after a day, when Redis does not know any more when it was
// taken out. What is not there and should be is told all the same.
func TestVerifyOfAStoreThatIsBehind(t *testing.T) {
	s := newSite(t, embedded(t), 2)
	rdb := s.rdb()
	defer rdb.Close()
	holds := func(what string, is func(ctx context.Context) bool) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); !is(t.Context()); time.Sleep(5 * time.Millisecond) { // nothing is judged by it
			if time.Now().After(deadline) {
				t.Fatalf("Redis never holds %s; the node said\n%s", what, s.output)
			}
		}
	}
	thread := cache.ThreadField("talk", "t1")
	s.emits(story+"\n"+`{"topic":"chat.messages","event":{"channel_id":"talk","members_joined":{"user_ids":["ann","bob"]}}}
{"topic":"chat.messages","event":{"channel_id":"talk","message_posted":{"message_id":"t1","sender_id":"ann"}}}
{"topic":"chat.messages","event":{"channel_id":"talk","message_posted":{"message_id":"t2","sender_id":"bob","thread_id":"t1"}}}
{"topic":"chat.messages","event":{"channel_id":"side","members_joined":{"user_ids":["ann","dan"]}}}
{"topic":"chat.messages","event":{"channel_id":"side","message_posted":{"message_id":"s1","sender_id":"dan"}}}`, func() {
		s.cached()
		holds("what the store has", func(ctx context.Context) bool {
			return rdb.Exists(ctx, "channel-latest:side", "channel-latest:talk").Val() == 2 && rdb.HExists(ctx, "inbox:ann", "side").Val() &&
				rdb.HExists(ctx, "inbox-threads:ann", thread).Val() && rdb.HExists(ctx, "inbox-threads:bob", thread).Val()
		})
	})
	behind := s.data
	verified := func(newer int) {
		t.Helper()
		r := s.verb("verify", "--redis", s.redis, "--json")
		var res rebuild.Result
		if err := json.Unmarshal([]byte(r.out), &res); err != nil || r.code != exitDone || res.Total != 0 || res.Redis.Newer != newer {
			t.Errorf("want %d newer and nothing else: %+v", newer, r)
		}
	}
	verified(0)
	s.data = filepath.Join(t.TempDir(), "data")
	s.emits(`{"topic":"chat.messages","event":{"channel_id":"general","members_left":{"user_ids":["bob"]}}}
{"topic":"chat.messages","event":{"channel_id":"general","message_deleted":{"message_id":"m3"}}}
{"topic":"chat.reads","event":{"channel_id":"talk","user_id":"ann","thread_unfollowed":{"thread_id":"t1"}}}
{"topic":"chat.messages","event":{"channel_id":"side","channel_deleted":{}}}`, func() {
		holds("what came later", func(ctx context.Context) bool {
			return !rdb.HExists(ctx, "inbox:bob", "general").Val() && rdb.HGet(ctx, "channel-latest:general", "latest_id").Val() == "m2" &&
				!rdb.HExists(ctx, "inbox-threads:ann", thread).Val() && rdb.Exists(ctx, "channel-latest:side").Val() == 0 &&
				!rdb.HExists(ctx, "inbox:ann", "side").Val() && !rdb.HExists(ctx, "inbox:dan", "side").Val()
		})
	})
	s.data = behind
	verified(7) // general, ann and bob in it; ann's thread; side, ann and dan in it
	if n, err := rdb.Del(t.Context(), "channel-stamp:side", "inbox-gone:ann", "inbox-gone:bob", "inbox-gone:dan").Result(); err != nil || n != 4 {
		t.Fatalf("of 4 keys that a day takes %d were there: %v", n, err)
	}
	verified(7)
	if n, err := rdb.HDel(t.Context(), "inbox:ann", "talk").Result(); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	r := s.verb("verify", "--redis", s.redis, "--json")
	var res rebuild.Result
	if err := json.Unmarshal([]byte(r.out), &res); err != nil || r.code != exitDifferences || res.Total != 1 || res.Redis.Newer != 7 ||
		res.Differences[0].Channel != "talk" || res.Differences[0].User != "ann" {
		t.Errorf("want ann's entry of talk, and 7 newer: %+v", r)
	}
	kept := s.verb("verify", "--redis", s.redis, "--repair", "--yes", "--json")
	if err := json.Unmarshal([]byte(kept.out), &res); err != nil || kept.code != exitDifferences || !res.Redis.Repaired || res.Aside != "" {
		t.Errorf("--repair: %+v", kept)
	}
}

// listed are the names in a directory.
func listed(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
