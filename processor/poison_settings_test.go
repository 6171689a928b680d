package processor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/steps"
	"github.com/tidemark/tidemark/projections"
)

// TestPoisonOfWhatUsersSay: bad events about users' settings of a channel (DESIGN §4.7) are copied
// to the dead letters with their reason. Events without an effect are folded by the rules. Good
// records between and after them are not lost, and a restart reads none of them again.
func TestPoisonOfWhatUsersSay(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 1)
		dir := t.TempDir()
		m := s.start(s.config(dir)).ready(1)
		many := func(n int, what string) string {
			var list []string
			for i := range n {
				list = append(list, fmt.Sprintf("%q", fmt.Sprint(what, i)))
			}
			return "[" + strings.Join(list, ",") + "]"
		}
		long := func(n int) string { return `["` + strings.Repeat("x", n) + `"]` }
		const control = `["a\u0007b"]`
		posted := func(more string) string {
			return `"message_posted":{"message_id":"lost","sender_id":"alice",` + more + `}`
		}
		cases := []struct {
			in     events.Input
			kind   string
			reason events.Reason // "": no dead letter
		}{
			{events.Messages, posted(`"hidden_from":` + many(1001, "u")), events.ReasonTooMany},
			{events.Messages, posted(`"hidden_from":` + long(256)), events.ReasonInvalidID},
			{events.Messages, posted(`"hidden_from":` + control), events.ReasonInvalidID},
			{events.Messages, posted(`"hidden_from":[""]`), events.ReasonInvalidID},
			{events.Messages, `"channel_updated":{"labels":` + long(200) + `}`, events.ReasonInvalidLabel},
			{events.Messages, `"channel_updated":{"labels":` + control + `}`, events.ReasonInvalidLabel},
			{events.Messages, `"channel_updated":{"labels":["work",""]}`, events.ReasonInvalidLabel},
			{events.Messages, `"channel_updated":{"labels":` + many(17, "l") + `}`, events.ReasonTooMany},
			{events.Messages, `"messages_seeded":{"count":0}`, events.ReasonInvalidCount},
			{events.Messages, `"messages_seeded":{"count":2147483649}`, events.ReasonInvalidCount},
			{events.Messages, `"messages_seeded":{"count":5}`, ""}, // ignored, because the channel has begun

			{events.Reads, `"messages_hidden":{"message_ids":` + many(1001, "m") + `}`, events.ReasonTooMany},
			{events.Reads, `"messages_hidden":{"message_ids":` + control + `}`, events.ReasonInvalidID},
			{events.Reads, `"messages_hidden":{}`, events.ReasonNoTarget},
			{events.Reads, `"messages_viewed":{"message_ids":` + many(1001, "m") + `}`, events.ReasonTooMany},
			{events.Reads, `"messages_viewed":{"message_ids":` + long(256) + `}`, events.ReasonInvalidID},
			{events.Reads, `"messages_viewed":{}`, events.ReasonNoTarget},
			{events.Reads, `"messages_read":{"message_ids":` + many(1001, "never") + `}`, events.ReasonTooManyHeld},
			{events.Reads, `"labels_set":{"labels":` + long(200) + `}`, events.ReasonInvalidLabel},
			{events.Reads, `"labels_set":{"labels":` + control + `}`, events.ReasonInvalidLabel},
			{events.Reads, `"labels_set":{"labels":` + many(17, "l") + `}`, events.ReasonTooMany},
			{events.Reads, `"notify_set":{"level":3}`, events.ReasonInvalidLevel},
			{events.Reads, `"notify_set":{"level":"LOUD"}`, events.ReasonInvalidLevel},
			{events.Reads, `"notify_set":{"level":-1}`, events.ReasonInvalidLevel},
			{events.Reads, `"notify_set":{"level":"NONE","until":"1969-12-31T23:59:59Z"}`, events.ReasonInvalidTime},
			{events.Reads, `"notify_set":{"level":"NONE","until":"10000-01-01T00:00:00Z"}`, events.ReasonUndecodable},
			{events.Reads, `"notify_set":{"level":"MENTIONS"}`, ""},
			{events.Reads, `"notify_set":{"level":"NONE","until":"9999-12-31T23:59:59Z"}`, ""},
			{events.Reads, `"line_set":{}`, events.ReasonNoTarget},
			{events.Reads, `"line_set":{"seq":0}`, events.ReasonZeroSeq},
			{events.Reads, `"line_set":{"message_id":"never"}`, ""}, // kept as stated
			{events.Reads, `"read_up_to":{"seq":1,"thread_id":"m0","with_threads":true}`, events.ReasonInvalidID},
			{events.Reads, `"flag_set":{"flagged":true,"head_seq":4294967295}`, ""},
			{events.Reads, `"channel_filed":{"archived":true,"head_seq":4294967295}`, ""},
		}
		s.join("general", "alice", "bob", "carol")
		type at struct {
			in     events.Input
			offset int64
		}
		want := map[at]events.Reason{}
		posts := 0
		for _, c := range cases {
			user := ""
			if c.in == events.Reads {
				user = `"user_id":"bob",`
			}
			value := `{"channel_id":"general",` + user + `"min_version":2,` + c.kind + `}`
			r := s.raw(c.in, 0, []byte("general"), []byte(value))
			if c.reason != "" {
				want[at{c.in, r.Offset}] = c.reason
			}
			s.post("general", fmt.Sprint("m", posts), "alice")
			posts++
		}
		// A level until 1970 has already ended, so the last level without an end applies.
		s.raw(events.Reads, 0, []byte("general"), []byte(`{"channel_id":"general","user_id":"carol","min_version":2,"notify_set":{"level":"MENTIONS"}}`))
		past := s.raw(events.Reads, 0, []byte("general"),
			[]byte(`{"channel_id":"general","user_id":"carol","min_version":2,"notify_set":{"level":"NONE","until":"1970-01-01T00:00:00Z"}}`))
		m.unread(past, "carol", "general")
		s.caughtUp(m)
		m.stop()
		s.start(s.config(dir)).ready(1).stop() // reads none of it again

		inputs := s.names().Inputs
		for _, r := range s.deadLetters() {
			var of at
			of.in = events.Input(slices.Index(inputs[:], header(r, steps.HeaderTopic)))
			if _, err := fmt.Sscan(header(r, steps.HeaderOffset), &of.offset); err != nil {
				t.Fatal(err)
			}
			if got := events.Reason(header(r, steps.HeaderReason)); got != want[of] {
				t.Errorf("%s at offset %d, %.150s: reason %q, want %q", of.in, of.offset, r.Value, got, want[of])
			}
			delete(want, of)
		}
		for of, reason := range want {
			t.Errorf("%s at offset %d: no dead letter, want one for %s", of.in, of.offset, reason)
		}
		s.withStores(s.config(dir), []string{dir}, func(p *projections.Partition) {
			v, _ := p.View("bob", "general")
			got := fmt.Sprintf("%d unread, level %d until %d and then %d, line %+v, flagged %t, filed %+v, labels %q and %q",
				v.Unread, v.Level, v.Until, v.LevelAfter, v.Line, v.Flagged, v.Filed, v.Labels, v.ChannelLabels)
			const year9999 = 253402300799_000
			if want := fmt.Sprintf("%d unread, level 2 until %d and then 1, line {MessageID:never Seq:0}, flagged true, filed {Is:true Keep:false Pos:%d}, labels [] and []",
				posts, int64(year9999), posts); got != want {
				t.Errorf("bob sees\n%s, want\n%s", got, want)
			}
			v, _ = p.View("carol", "general")
			if is := (events.Levels{Level: v.Level, Until: v.Until, After: v.LevelAfter}).At(1); is.Level != events.LevelMentions || v.Unread != uint32(posts) {
				t.Errorf("carol has the level %v and %d unread", is, v.Unread)
			}
		})
	})
}
