package checker

import (
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/projections"
)

// bobsEnd has the events that erase bob from the tale.
var bobsEnd = [][2]string{
	{events.TopicMessages, `{"channel_id":"general","members_left":{"user_ids":["bob"]}}`},
	{events.TopicReads, `{"channel_id":"general","user_id":"bob","user_erased":{}}`},
}

// TestWhoIsGone: Gone returns exactly the users of whom nothing may be left.
func TestWhoIsGone(t *testing.T) {
	read := [2]string{events.TopicReads, `{"channel_id":"general","user_id":"bob","read_up_to":{"message_id":"m2"}}`}
	joined := [2]string{events.TopicMessages, `{"channel_id":"general","members_joined":{"user_ids":["bob"]}}`}
	late := [2]string{events.TopicDeliveries, `{"channel_id":"general","user_id":"bob","delivered":{"message_id":"m1"}}`}
	mention := [2]string{events.TopicMessages, `{"channel_id":"general","message_posted":{"message_id":"m9","sender_id":"ann","mentions":["bob"]}}`}
	elsewhere := [2]string{events.TopicReads, `{"channel_id":"other","user_id":"bob","read_up_to":{"seq":1}}`}
	over := [2]string{events.TopicMessages, `{"channel_id":"other","channel_deleted":{}}`}
	for _, c := range []struct {
		name string
		then [][2]string
		gone bool
	}{
		{"nothing was said of bob", nil, false},
		{"erased, and still a member", bobsEnd[1:], false},
		{"left, and not erased", bobsEnd[:1], false},
		{"erased", bobsEnd, true},
		{"read again", append(slices.Clone(bobsEnd), read), false},
		{"joined again", append(slices.Clone(bobsEnd), joined), false},
		{"a delivery comes late", append(slices.Clone(bobsEnd), late), true},
		{"somebody mentions bob", append(slices.Clone(bobsEnd), mention), true},
		{"known in another channel", append(slices.Clone(bobsEnd), elsewhere), false},
		{"known in a channel that is gone", append(slices.Clone(bobsEnd), elsewhere, over), true},
	} {
		l := NewLog(projections.DefaultSettings(), 1, publishedLog(append(slices.Clone(tale), c.then...)...))
		if got := slices.Contains(l.Gone(), "bob"); got != c.gone {
			t.Errorf("%s: gone %t, want %t", c.name, got, c.gone)
		}
		if slices.Contains(l.Gone(), "ann") {
			t.Errorf("%s: ann is gone", c.name)
		}
	}
}

// TestWhatIsLeftIsFound: the checks find what is left of an erased user in a store, in a Redis and
// in a topic.
func TestWhatIsLeftIsFound(t *testing.T) {
	records := publishedLog(append(slices.Clone(tale), bobsEnd...)...)
	l := NewLog(projections.DefaultSettings(), 1, records)
	store := func(leaveOut int) *Findings {
		f := &Findings{}
		l.goneFromStore(&model.WithCold{Partition: folded(t, records, leaveOut)}, f)
		return f
	}
	history := func(n int) *Findings {
		f := &Findings{}
		all := publishedOf(t, records)
		NewHistory(all[:len(all)-n], f).gone(l, f)
		return f
	}
	cached := func(keys ...string) *Findings {
		m := miniredis.RunT(t)
		for _, k := range append(keys, "inbox:bob2", "read-pointer:bo:b", "inbox-gone:bob") {
			m.HSet(k, "general", "{}")
		}
		rdb := redis.NewClient(&redis.Options{Addr: m.Addr()})
		defer rdb.Close()
		f := &Findings{}
		l.goneFromRedis(t.Context(), rdb, f)
		return f
	}
	for _, c := range []struct {
		name  string
		found *Findings
		want  []string
	}{
		{"nothing in the store", store(-1), nil},
		{"nothing in the topic", history(0), nil},
		{"nothing in Redis", cached(), nil},
		{"bob has not left", store(len(records) - 2), []string{"general in their inbox", "bob is gone, but general says"}},
		{"bob was not erased", store(len(records) - 1), []string{"read to m1", "among the recipients of m1"}},
		{"the topic does not say so", history(2), []string{"the newest value of \"bob\\x00general"}},
		{"read pointers", cached("read-pointer:bob:general", "thread-read:bob:m1"), []string{"read-pointer:bob:general", "thread-read:bob:m1"}},
		{"an inbox", cached("inbox:bob", "ws:bob"), []string{"inbox:bob", "ws:bob"}},
	} {
		message := strings.Join(c.found.First, "\n")
		if len(c.want) == 0 && c.found.Count > 0 {
			t.Errorf("%s: found %s", c.name, message)
		}
		for _, want := range c.want {
			if !strings.Contains(message, want) {
				t.Errorf("%s: %q is not found, but\n%s", c.name, want, message)
			}
		}
	}
}
