package rebuild_test

import (
	"strings"
	"testing"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

// TestVerifyFindsEachField: what one user sees of a small channel, of a large one and of a thread
// is changed in Redis, one field at a time. Each is found by its name; nothing else is.
func TestVerifyFindsEachField(t *testing.T) {
	s := projections.DefaultSettings()
	s.FanoutLimit = 3
	h := newHealthy(t, s)
	var p script.Parser
	records, err := p.Parse(strings.TrimSpace(`
ann, bob join #small
ann, bob, cat, dan join #large
update the channel labels work #small
update the channel labels team archived #large
ann posts s1, s2 #small
ann posts s3 @bob #small
ann posts l1, l2 #large
ann posts l3 @bob #large
bob reads up to s1 #small
bob follows s1 #small
ann posts r1 in thread s1 @bob #small
bob wants mentions #small
bob wants nothing until 1:00:00 ignoring @all #small
bob flags #small
bob files head seq 4 #small
bob draws the line under s2 #small
bob labels mine #small`))
	if err != nil {
		t.Fatal(err)
	}
	stop := h.run()
	h.write(records)
	small, large := cache.InboxKey("bob"), cache.ChannelLatestKey("large")
	testkit.Await(t, "Redis has it all", func() bool {
		entry, _ := h.rdb.HGet(t.Context(), small, "small").Result()
		return strings.Contains(entry, `"labels":["mine"]`) && h.rdb.HGet(t.Context(), large, "message_pos").Val() == "3"
	})
	stop()
	h.silent("as it is", false)
	threads := cache.InboxThreadsKey("bob")
	for _, c := range []struct{ key, field, from, to, want string }{
		{small, "small", `"level":"NONE"`, `"level":"ALL"`, "level is ALL"},
		{small, "small", `"until":"2026-01-01T01`, `"until":"2026-01-01T02`, "until is"},
		{small, "small", `"level_after":"MENTIONS"`, `"level_after":"NONE"`, "level_after is NONE"},
		{small, "small", `"ignore_mention_all":true`, `"ignore_mention_all":false`, "ignore_mention_all is false"},
		{small, "small", `"direct_mentions":1`, `"direct_mentions":7`, "direct_mentions is 7"},
		{small, "small", `"first_mention":{"message_id":"s3","seq":3}`, `"first_mention":{"message_id":"s2","seq":2}`, `first_mention is seq 2, message "s2"`},
		{small, "small", `"flagged":true`, `"flagged":false`, "flagged is false"},
		{small, "small", `"pos":3`, `"pos":9`, "filed is up to pos 9"},
		{small, "small", `"keep":false`, `"keep":true`, "filed is for good"},
		{small, "small", `"line":{"message_id":"s2","seq":0}`, `"line":{"message_id":"","seq":2}`, "line is seq 2"},
		{small, "small", `"labels":["mine"]`, `"labels":["other"]`, "labels is other"},
		{small, "large", `"mentioned":"3"`, `"mentioned":"2,3"`, "mentions is 2"},
		{threads, cache.ThreadField("small", "s1"), `"direct_mentions":1`, `"direct_mentions":7`, "direct_mentions is 7"},
		{threads, cache.ThreadField("small", "s1"), `"first_mention":{"message_id":"r1","seq":4}`, `"first_mention":{"message_id":"s2","seq":2}`, "first_mention is seq 2"},
		{large, "labels", `team`, `others`, "labels is others"},
		{large, "archived", `true`, `false`, "archived is false"},
	} {
		value := h.rdb.HGet(t.Context(), c.key, c.field).Val()
		wrong := strings.Replace(value, c.from, c.to, 1)
		if wrong == value {
			t.Errorf("%s, %q has no %s: %s", c.key, c.field, c.from, value)
			continue
		}
		set := func(to string) {
			if err := h.rdb.HSet(t.Context(), c.key, c.field, to).Err(); err != nil {
				t.Fatal(err)
			}
		}
		set(wrong)
		res, _ := h.verify(false)
		var all []string
		for _, d := range res.Differences {
			all = append(all, d.String())
		}
		if message := strings.Join(all, "\n"); !strings.Contains(message, c.want) {
			t.Errorf("%s became %s: %q is not in the message:\n%s", c.from, c.to, c.want, message)
		}
		set(value)
	}
	h.silent("as it was", false)
}
