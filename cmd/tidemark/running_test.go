package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// busy writes messages of other people to other channels until the returned function is called: a
// node that works.
func (s *site) busy() (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		pace := time.NewTicker(50 * time.Millisecond) // what is tested is that records come, not how many
		defer pace.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			<-pace.C
			var b strings.Builder
			for c := range 8 {
				fmt.Fprintf(&b, `{"topic":"chat.messages","event":{"channel_id":"busy-%d","members_joined":{"user_ids":["x%d"]}}}`+"\n", c, i)
				fmt.Fprintf(&b, `{"topic":"chat.messages","event":{"channel_id":"busy-%d","message_posted":{"message_id":"b%d","sender_id":"x0","mentions":["x1"]}}}`+"\n", c, i)
				fmt.Fprintf(&b, `{"topic":"chat.reads","event":{"channel_id":"busy-%d","user_id":"x1","read_up_to":{"message_id":"b%d"}}}`+"\n", c, i)
			}
			if r := tidemark(s.t, b.String(), "emit", "--brokers", s.broker); r.code != exitDone {
				s.t.Errorf("emit: %+v", r)
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// TestVerifyBesideARunningNode: while records come and the cache follows, what is right is found
// right; what is wrong in a store or in Redis is told, and nothing else; and no copy is left
// behind.
func TestVerifyBesideARunningNode(t *testing.T) {
	own(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env, 2)
		s.folded(story)
		s.tamper("ann", 3)
		url, stop := s.run()
		awaitReady(t, url)
		s.cachedNow()
		idle := s.busy()
		verify := func(args ...string) result {
			t.Helper()
			return tidemark(t, "", append([]string{"verify", "--node", url, "--brokers", s.broker, "--redis", s.redis}, args...)...)
		}
		p := events.PartitionOf([]byte("general"), 2)
		r := verify("--partition", fmt.Sprint(1-p))
		if r.code != exitDone || !strings.Contains(r.out, "no difference") {
			t.Errorf("a partition that is right: %+v", r)
		}
		r = verify("--no-redis")
		if r.code != exitDifferences || !strings.Contains(r.out, fmt.Sprintf(`store, partition %d, channel "general", user "ann": unread is 0, the topics say 2`, p)) ||
			strings.Contains(r.out, "busy-") {
			t.Errorf("a store that was tampered with: %+v", r)
		}
		idle()
		stop()

		if r := s.verb("verify", "--redis", s.redis, "--repair", "--yes"); r.code != exitDifferences {
			t.Fatalf("--repair: %+v", r)
		}
		url, stop = s.run()
		awaitReady(t, url)
		s.cachedNow()
		idle = s.busy()
		if r := verify(); r.code != exitDone || !strings.Contains(r.out, "no difference") {
			t.Errorf("after the repair: %+v", r)
		}
		o, err := redis.ParseURL(env.RedisURL)
		if err != nil {
			t.Fatal(err)
		}
		rdb := redis.NewClient(o)
		defer rdb.Close()
		value, err := rdb.HGet(t.Context(), "inbox:bob", "general").Result()
		if err != nil {
			t.Fatal(err)
		}
		if err := rdb.HSet(t.Context(), "inbox:bob", "general", strings.Replace(value, `"unread":0`, `"unread":7`, 1)).Err(); err != nil {
			t.Fatal(err)
		}
		r = verify()
		if r.code != exitDifferences || !strings.Contains(r.out, `user "bob": inbox:bob, unread is 7, the topics say 0`) || !strings.Contains(r.out, ", 1 difference\n") {
			t.Errorf("a wrong value in Redis: %+v", r)
		}
		for _, c := range []struct {
			want string
			code int
			args []string
		}{
			{"stop the node, and leave out --node", exitUsage, []string{"--repair"}},
			{"partition 9 is not compared: the node does not own it", exitFailed, []string{"--partition", "9"}},
			{"a store is verified where its node runs", exitFailed, []string{"--data-dir", t.TempDir()}},
			{"is not the URL of a node", exitUsage, []string{"--node", "nowhere"}},
			{"no node answers at http://127.0.0.1:1", exitFailed, []string{"--node", "http://127.0.0.1:1"}},
		} {
			if r := verify(append(c.args, "--no-redis")...); r.code != c.code || !strings.Contains(r.errout, c.want) {
				t.Errorf("%v: %+v, want %d and %q", c.args, r, c.code, c.want)
			}
		}
		idle()
		if left, err := filepath.Glob(filepath.Join(s.data, "verify-*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		stop()
	})
}

// TestSnapshotOfARunningNode: it takes them itself, now, with progress, and they are good.
func TestSnapshotOfARunningNode(t *testing.T) {
	s, bucket := newSite(t, embedded(t), 2), "file://"+t.TempDir()
	s.folded(story)
	url, stop := s.run("--snapshots", bucket, "--snapshot-every", "0")
	awaitReady(t, url)
	create := func(args ...string) result {
		t.Helper()
		return tidemark(t, "", append([]string{"snapshot", "create", "--node", url}, args...)...)
	}
	p := events.PartitionOf([]byte("general"), 2)
	expect := func(r result, code int, want ...string) {
		t.Helper()
		for _, w := range want {
			if r.code != code || !strings.Contains(r.out+r.errout, w) {
				t.Errorf("exit %d, want %d and %q:\n%s%s", r.code, code, w, r.out, r.errout)
			}
		}
	}
	expect(create(), exitDone, fmt.Sprintf("partition %d: snapshot 4-1-", p), "were uploaded in", fmt.Sprintf("partition %d: its store is still empty", 1-p))
	expect(create("--partition", fmt.Sprint(p)), exitDone, "has the same position")
	expect(create("--partition", fmt.Sprint(p), "--full", "--json"), exitDone, `"unchanged":false`, fmt.Sprintf(`"partition":%d`, p), `"uploaded_bytes":`)
	expect(create("--partition", "9"), exitFailed, "partition 9: this node does not own the partition")
	expect(create("--data-dir", s.data), exitUsage, "leave out --data-dir and --snapshots")
	expect(tidemark(t, "", "snapshot", "create"), exitUsage, "name the bucket with --snapshots")
	expect(tidemark(t, "", "snapshot", "create", "--data-dir", s.data, "--snapshots", bucket), exitFailed, "is in use: name the node that uses it with --node")
	stop()
	expect(tidemark(t, "", "snapshot", "verify", "--snapshots", bucket), exitDone, "is in order")
	expect(create(), exitFailed, "no node answers at http://127.0.0.1")

	url, stop = s.run()
	awaitReady(t, url)
	expect(create(), exitFailed, "start it with --snapshots")
	stop()
}

// cachedNow waits until Redis says that it is complete and has both people's channel.
func (s *site) cachedNow() {
	s.t.Helper()
	rdb := s.rdb()
	defer rdb.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if rdb.Exists(s.t.Context(), "tidemark:epoch", "channel-latest:general").Val() == 2 && rdb.HExists(s.t.Context(), "inbox:bob", "general").Val() {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatal("Redis is never complete")
		}
	}
}
