package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestReshard: from 2 partitions to 5, with every number the same, records of megabytes too, and a
// node that goes on from there.
func TestReshard(t *testing.T) {
	s := newSite(t, embedded(t), 2)
	input := []string{story}
	var strangers []string
	for i := range 40_000 {
		strangers = append(strangers, fmt.Sprintf("somebody-whom-nobody-knows-%05d", i))
	}
	input = append(input, `{"topic":"chat.messages","event":{"channel_id":"c0","members_left":{"user_ids":["`+strings.Join(strangers, `","`)+`"]}}}`)
	for i := range 30 {
		input = append(input, fmt.Sprintf(`{"topic":"chat.messages","event":{"channel_id":"c%d","members_joined":{"user_ids":["ann","bob"]}}}`, i),
			fmt.Sprintf(`{"topic":"chat.messages","event":{"channel_id":"c%d","message_posted":{"message_id":"m1","sender_id":"bob"}}}`, i),
			fmt.Sprintf(`{"topic":"chat.reads","event":{"channel_id":"c%d","user_id":"ann","read_up_to":{"message_id":"m1"}}}`, i))
	}
	input = append(input, `{"topic":"chat.messages","event":{"channel_id":"seeded","min_version":2,"messages_seeded":{"count":100000}}}`,
		`{"topic":"chat.messages","event":{"channel_id":"seeded","members_joined":{"user_ids":["ann","bob"],"count_history":true}}}`,
		`{"topic":"chat.messages","event":{"channel_id":"seeded","message_posted":{"message_id":"s1","sender_id":"bob"}}}`,
		`{"topic":"chat.reads","event":{"channel_id":"seeded","user_id":"ann","read_up_to":{"seq":99000}}}`)
	ok(t, strings.Join(input, "\n"), "emit", "--brokers", s.broker)
	dir := filepath.Join(t.TempDir(), "reshard")
	reshard := func(dir string) result {
		return tidemark(t, "", "reshard", "--brokers", s.broker, "--partitions", "5", "--replication-factor", "1", "--to-prefix", "v2.", "--dir", dir)
	}
	r := reshard(dir)
	if r.code != exitDone {
		t.Fatalf("%+v", r)
	}
	golden(t, "../verbs/reshard", strings.ReplaceAll(r.out, dir, "DIR"))
	if r := reshard(dir); r.code != exitUsage || !strings.Contains(r.errout, "is not empty") {
		t.Errorf("into the same directory: %+v", r)
	}
	if r := reshard(filepath.Join(t.TempDir(), "x")); r.code != exitFailed || !strings.Contains(r.errout, "has records already") {
		t.Errorf("into the same topics: %+v", r)
	}
	url, stop := s.run("--topic-prefix", "v2.", "--group", "v2", "--roles", "processor,cache,query,gateway")
	defer stop()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		r := tidemark(t, "", "query", "unread", "ann", "general", "--addr", url) // unavailable while the partition opens
		if r.code == exitDone && strings.Contains(r.out, "unread          2") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("on the new topics: %+v", r)
		}
	}
	if out := ok(t, "", "query", "explain", "ann", "seeded", "--addr", url); !strings.Contains(out, "unread        1001") || !strings.Contains(out, "seq 99000") {
		t.Errorf("a seeded channel on the new topics: %s", out)
	}
	adm, groups := testkit.Admin(t, []string{s.broker}), []string(nil)
	testkit.Await(t, "every role has a group that follows from --group", func() bool {
		listed, err := adm.ListGroups(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		groups = listed.Groups()
		return len(groups) >= 3
	})
	if !slices.Equal(groups, []string{"v2", "v2-cache", "v2-gateway"}) {
		t.Errorf("the groups are %v", groups)
	}
	if r := tidemark(t, "", "replay", "--brokers", s.broker, "--topic-prefix", "v2.", "--group", "v2", "--into", filepath.Join(t.TempDir(), "rebuilt")); r.code != exitDone || !strings.Contains(r.out, "5 partitions") {
		t.Errorf("a replay of the new topics: %+v", r)
	}
	if out := ok(t, "", "topics", "check", "--brokers", s.broker, "--topic-prefix", "v2.", "--partitions", "5", "--replication-factor", "1"); !strings.Contains(out, "as they should be") {
		t.Errorf("topics check: %s", out)
	}
	if out := ok(t, `{"topic":"chat.reads","event":{"channel_id":"c0","user_id":"ann","channel_muted":{"muted":true}}}`, "emit", "--brokers", s.broker, "--topic-prefix", "v2."); !strings.HasPrefix(out, "v2.chat.reads/") {
		t.Errorf("emit: %s", out)
	}
	if out := ok(t, "", "inspect", "topic", "v2.chat.reads", "--brokers", s.broker, "--records", "100"); !strings.Contains(out, "channel_muted") {
		t.Errorf("inspect topic: %s", out)
	}
	if out := ok(t, "", "deadletters", "list", "--brokers", s.broker, "--topic-prefix", "v2."); !strings.Contains(out, "0 dead letters") {
		t.Errorf("deadletters list: %s", out)
	}
	if r := tidemark(t, "", "verify", "--brokers", s.broker, "--topic-prefix", "v2.", "--node", url, "--no-redis"); r.code != exitDone {
		t.Errorf("a comparison with the new topics: %+v", r)
	}
}
