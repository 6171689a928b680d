package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/app/erase"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// eraseStory is of ann, who is a member of general and follows a thread there, has left a channel,
// posted to one and read another without ever joining; and of bob, whom an erasure of ann is none
// of.
var eraseStory = strings.Join([]string{
	threadStory,
	`{"topic":"chat.messages","event":{"channel_id":"left","members_joined":{"user_ids":["ann","bob"]}}}`,
	`{"topic":"chat.messages","event":{"channel_id":"left","message_posted":{"message_id":"l1","sender_id":"bob"}}}`,
	`{"topic":"chat.reads","event":{"channel_id":"left","user_id":"ann","read_up_to":{"message_id":"l1"}}}`,
	`{"topic":"chat.messages","event":{"channel_id":"left","members_left":{"user_ids":["ann"]}}}`,
	`{"topic":"chat.messages","event":{"channel_id":"guest","message_posted":{"message_id":"g1","sender_id":"bob"}}}`,
	`{"topic":"chat.reads","event":{"channel_id":"guest","user_id":"ann","read_up_to":{"message_id":"g1"}}}`,
	`{"topic":"chat.messages","event":{"channel_id":"posted","message_posted":{"message_id":"p1","sender_id":"ann"}}}`,
	`{"topic":"chat.messages","event":{"channel_id":"other","members_joined":{"user_ids":["bob"]}}}`,
}, "\n")

// annsKeys are the keys of Redis that name ann.
func annsKeys(t *testing.T, rdb *redis.Client) (keys []string) {
	t.Helper()
	for _, k := range rdb.Keys(t.Context(), "*").Val() {
		if strings.Contains(k, "ann") && !strings.HasPrefix(k, "channel") {
			keys = append(keys, k)
		}
	}
	return keys
}

// A user who is erased is gone from queries and from Redis, and a node that folds everything anew
// comes to the same.
func TestEraseUser(t *testing.T) {
	own(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env, 2)
		o, err := redis.ParseURL(env.RedisURL)
		if err != nil {
			t.Fatal(err)
		}
		rdb := redis.NewClient(o)
		defer rdb.Close()
		ctx := t.Context()
		url, stop := s.run()
		awaitReady(t, url)
		ok(t, eraseStory, "emit", "--brokers", s.broker)
		erased := func(args ...string) result {
			return tidemark(t, "", append([]string{"erase-user", "--brokers", s.broker, "--redis", s.redis, "--addr", url, "--user", "ann", "--yes"}, args...)...)
		}
		r := erased("--dry-run")
		if r.code != exitDone || !strings.Contains(r.out, "ann would leave 1 channel and be erased in 4; 0 hold nothing about them any more. Nothing was written.") ||
			!strings.Contains(r.out, "topic chat.reads ") {
			t.Fatalf("--dry-run: %+v", r)
		}
		for deadline := time.Now().Add(time.Minute); rdb.Exists(ctx, "inbox:ann", "inbox-threads:ann", "thread-read:ann:m1", "read-pointer:ann:general",
			"read-pointer:ann:left", "read-pointer:ann:guest", "tidemark:epoch").Val() < 7; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("Redis never holds what ann did: %q", annsKeys(t, rdb))
			}
		}
		if out := ok(t, "", "query", "receipts", "general", "m2", "--addr", url, "--json"); !strings.Contains(out, `"user_id":"ann"`) || !strings.Contains(out, `"recipient_count":1`) {
			t.Errorf("receipts before the erasure: %s", out)
		}
		rdb.Set(ctx, "ws:ann", "1", 0)
		bob := rdb.HGetAll(ctx, "inbox:bob").Val()

		var res erase.Result
		key, first, second := certificateKey(t), filepath.Join(t.TempDir(), "first.json"), filepath.Join(t.TempDir(), "second.json")
		r = erased("--json", "--certificate", first, "--certificate-key", key)
		if err := json.Unmarshal([]byte(r.out), &res); r.code != exitDone || err != nil || res.Left != 1 || res.Erased != 4 || len(res.After) == 0 ||
			res.Redis == nil || !res.Redis.Waited || res.Redis.Removed != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		for _, c := range res.Channels {
			if c.ErasedAt == "" || c.Member != (c.LeftAt != "") {
				t.Errorf("channel %+v", c)
			}
		}
		gone := func(when, url string) {
			t.Helper()
			for _, channel := range []string{"general", "left", "guest"} {
				out := ok(t, "", "query", "unread", "ann", channel, "--addr", url, "--json")
				if !strings.Contains(out, `"member":false`) || strings.Contains(out, "last_read") || !strings.Contains(out, `"read_epoch":1`) {
					t.Errorf("%s: unread of ann in %s: %s", when, channel, out)
				}
			}
			if out := ok(t, "", "query", "inbox", "ann", "--addr", url, "--json"); !strings.Contains(out, `"channels":[]`) {
				t.Errorf("%s: inbox of ann: %s", when, out)
			}
			if out := ok(t, "", "query", "threads", "ann", "--addr", url, "--json"); !strings.Contains(out, `"threads":[]`) {
				t.Errorf("%s: threads of ann: %s", when, out)
			}
			if out := ok(t, "", "query", "channel", "general", "--addr", url, "--json"); !strings.Contains(out, `"member_count":1`) {
				t.Errorf("%s: channel general: %s", when, out)
			}
			for _, verb := range []string{"receipts general m2", "readers general", "readers left"} {
				out := ok(t, "", append(append([]string{"query"}, strings.Fields(verb)...), "--addr", url, "--json")...)
				if strings.Contains(out, `"ann"`) || !strings.Contains(out, `"next_page_token"`) {
					t.Errorf("%s: %s: %s", when, verb, out)
				}
			}
			if keys := annsKeys(t, rdb); len(keys) != 1 || keys[0] != "inbox-gone:ann" {
				t.Errorf("%s: Redis has %q of ann", when, keys)
			}
		}
		gone("erased", url)
		if r := erased("--scan", first, "--certificate", second, "--certificate-key", key); r.code != exitDone || !strings.Contains(r.out, "nothing is left of ann") {
			t.Errorf("scan: %+v", r)
		}
		if b, err := os.ReadFile(second); err != nil || !strings.Contains(string(b), `{"certificate":{"kind":"scan","user":"ann"`) {
			t.Errorf("the second certificate: %s, %v", b, err)
		}
		if r := erased("--certificate", first, "--certificate-key", key); r.code != exitFailed || !strings.Contains(r.errout, "exists") {
			t.Errorf("over the first certificate: %+v", r)
		}
		if now := rdb.HGetAll(ctx, "inbox:bob").Val(); len(now) != len(bob) {
			t.Errorf("inbox of bob: %v, before %v", now, bob)
		}
		r = erased()
		if r.code != exitDone || !strings.Contains(r.out, "ann left 0 channels and was erased in 0; 4 held nothing about them any more") {
			t.Errorf("again: %+v", r)
		}
		stop()
		if r := s.verb("verify", "--redis", s.redis); r.code != exitDone {
			t.Errorf("verify: %+v", r)
		}

		// A replay erases, too: a node without a store, and a Redis without anything.
		rdb.FlushAll(ctx)
		s.data += "-new"
		url, stop = s.run("--group", "tidemark-2")
		defer stop()
		awaitReady(t, url)
		ok(t, "", "query", "inbox", "bob", "--addr", url, "--after", strings.Join(res.After, ","))
		for deadline := time.Now().Add(time.Minute); rdb.Exists(ctx, "tidemark:epoch", "inbox:bob").Val() < 2; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("Redis is never complete again")
			}
		}
		gone("replayed", url)
	})
}

// Only the named channels, and what cannot be done is said before anything is written.
func TestEraseUserInNamedChannels(t *testing.T) {
	s := stack(t)
	after := strings.Join(lines(ok(t, eraseStory, "emit", "--brokers", s.Broker)), ",")
	args := []string{"erase-user", "--brokers", s.Broker, "--redis", s.RedisURL, "--addr", s.URL, "--user", "ann", "--yes"}
	with := func(more ...string) result { return tidemark(t, "", append(args[:len(args):len(args)], more...)...) }
	if r := with("--channel", "other,general"); r.code != exitFailed || !strings.Contains(r.errout, `channel ["other"]: the channel holds nothing about the user`) {
		t.Errorf("a channel that knows nothing of ann: %+v", r)
	}
	if out := ok(t, "", "query", "unread", "ann", "general", "--addr", s.URL, "--after", after); !strings.Contains(out, "last read       m1") {
		t.Errorf("something was erased all the same:\n%s", out)
	}
	if r := with("--channel", "general"); r.code != exitDone || !strings.Contains(r.out, "ann left 1 channel and was erased in 1;") {
		t.Errorf("in general: %+v", r)
	}
	if out := ok(t, "", "query", "unread", "ann", "guest", "--addr", s.URL); !strings.Contains(out, "last read       g1") {
		t.Errorf("ann was erased in another channel:\n%s", out)
	}
	if r := tidemark(t, "", "erase-user", "--user", "a\x01b"); r.code != exitUsage {
		t.Errorf("no id: %+v", r)
	}
	if r := with("--addr", "http://127.0.0.1:1"); r.code != exitFailed || !strings.Contains(r.errout, "no node answers") {
		t.Errorf("no node: %+v", r)
	}
}

// Snapshots from before the erasure are named, later ones are not.
func TestEraseUserNamesSnapshots(t *testing.T) {
	s := newSite(t, embedded(t), 2)
	bucket := "file://" + filepath.Join(t.TempDir(), "bucket")
	s.folded(story)
	ok(t, "", "snapshot", "create", "--data-dir", s.data, "--snapshots", bucket)
	position := regexp.MustCompile(`snapshot of partition \d+, 4-1-0 of `)
	erased := func(args ...string) string {
		t.Helper()
		url, stop := s.run()
		defer stop()
		awaitReady(t, url)
		return ok(t, "", append([]string{"erase-user", "--brokers", s.broker, "--redis", s.redis, "--addr", url, "--user", "ann", "--yes", "--snapshots", bucket}, args...)...)
	}
	if out := erased("--dry-run"); !position.MatchString(out) || strings.Contains(out, "perhaps") {
		t.Errorf("before the erasure:\n%s", out)
	}
	key, first := certificateKey(t), filepath.Join(t.TempDir(), "first.json")
	if out := erased("--certificate", first, "--certificate-key", key); !position.MatchString(out) || strings.Contains(out, "perhaps") || strings.Count(out, "snapshot of") != 1 {
		t.Errorf("at the erasure:\n%s", out)
	}
	if b, err := os.ReadFile(first); err != nil || !regexp.MustCompile(`"digest":"[0-9a-f]{32}","at":"[^"]+","erased":false`).Match(b) {
		t.Errorf("the certificate has no digest of before: %s, %v", b, err)
	}
	ok(t, "", "snapshot", "create", "--data-dir", s.data, "--snapshots", bucket)
	// The one of before is still there, which a scan finds.
	url, stop := s.run()
	awaitReady(t, url)
	r := tidemark(t, "", "erase-user", "--brokers", s.broker, "--redis", s.redis, "--addr", url, "--user", "ann", "--snapshots", bucket, "--scan", first, "--certificate-key", key)
	if stop(); r.code != exitDifferences || strings.Count(r.out, "is from before the erasure") != 1 {
		t.Errorf("scan: %+v", r)
	}
	// Where an earlier run erased, it is not known from when a snapshot must be.
	if out := erased(); strings.Count(out, "perhaps the snapshot of partition") != 2 {
		t.Errorf("after the erasure:\n%s", out)
	}
	if out := erased("--user", "nobody"); strings.Contains(out, "snapshot of") || !strings.Contains(out, "nobody: no channel holds anything about this user") {
		t.Errorf("of somebody else:\n%s", out)
	}
}

// certificateKey is a file with a key for certificates.
func certificateKey(t *testing.T) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
