package cache

import (
	"bytes"
	"encoding/hex"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cache/internal/format"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// A Redis that has other values or families is filled again. None of the former values remain,
// readers miss until everything is there, and stamps work as before, including those of removals.
func TestAnotherFormatIsAFilling(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		topics := env.Topics(t, nParts)
		rdb, cl, rng := redisClient(t, env.RedisURL), producer(t, env.Brokers), seeded(t)
		h := newHistory()
		produce(t, cl, topics, nParts, h.grow(rng, 300, 6, 5)...)
		for _, values := range []string{"json", "packed", "json", "packed"} {
			as := func(c *Config) { c.Values = values }
			m := launch(t, env.Brokers, topics, rdb, as)
			m.ready(t)
			addr := rdb.Options().Addr
			if values == "packed" {
				packedRedises.Store(addr, true)
			} else {
				packedRedises.Delete(addr)
			}
			h.await(t, rdb)
			if f, err := NewReader(rdb).Format(t.Context()); err != nil || f.Values() != values {
				t.Errorf("filled with %+v, %v, want %s", f, err, values)
			}
			produce(t, cl, topics, nParts, h.grow(rng, 50, 6, 5)...)
			h.await(t, rdb)
			var old []*kgo.Record // records that a late owner writes again
			for _, r := range h.records[:100] {
				r := *r
				r.Topic = strings.TrimPrefix(r.Topic, topics.Prefix)
				old = append(old, &r)
			}
			produce(t, cl, topics, nParts, old...)
			produce(t, cl, topics, nParts, h.grow(rng, 50, 6, 5)...)
			h.await(t, rdb)
			m.stop()
			h.check(t, rdb)
		}
		packedRedises.Delete(rdb.Options().Addr)
	})
}

// The cache does not write a family that is left out, and readers report so. The other families are
// the same as with all families.
func TestFamilies(t *testing.T) {
	for _, values := range []string{"json", "packed"} {
		t.Run(values, func(t *testing.T) {
			kafka := testkit.FakeKafka(t)
			topics := testkit.Topics(t, kafka.ListenAddrs(), 1, 1)
			cl := producer(t, kafka.ListenAddrs())
			rdb := redisClient(t, "redis://"+testkit.Miniredis(t).Addr())
			labelled := head("d", 2, 2)
			labelled.Labels = [][]byte{[]byte("x")}
			produce(t, cl, topics, 1, unreadRecord(reading(small("u", "c", 1, 1), "m", 1, t0)), unreadRecord(inThread(reading(small("u", "c", 2, 2), "m", 1, t0), "t")),
				unreadRecord(left("u", "gone", 3, 1)), channelRecord(head("c", 1, 1)))
			for _, c := range []struct{ keys, prefixes string }{
				{"inbox", "inbox-gone: inbox:"},
				{"inbox,pointers", "inbox-gone: inbox: read-pointer:"},
				{"threads,inbox", "inbox-gone: inbox-threads: inbox:"},
				{"inbox,channels", "channel-latest: channel-stamp: inbox-gone: inbox:"},
				{"inbox,pointers,channels,threads", "channel-latest: channel-stamp: inbox-gone: inbox-threads: inbox: read-pointer: thread-read:"},
			} {
				m := launch(t, kafka.ListenAddrs(), topics, rdb, func(cfg *Config) { cfg.Values, cfg.Keys = values, strings.Split(c.keys, ",") })
				m.ready(t)
				want := c.prefixes
				if values == "packed" {
					want = strings.ReplaceAll(want, "channel-stamp: ", "") // the record has it
				}
				if got := prefixes(t, rdb); got != want {
					t.Errorf("--redis-keys %s: %s, want %s", c.keys, got, want)
				}
				f, err := format.Of(values, strings.Split(c.keys, ","))
				if err != nil {
					t.Fatal(err)
				}
				r, ctx := NewReader(rdb), t.Context()
				v, err := r.View(ctx, "u")
				if err != nil || len(v.Channels) != 1 || !v.Channels[0].Known || !slices.Equal(v.Without, f.Without()) {
					t.Errorf("--redis-keys %s: %+v, %v", c.keys, v, err)
				}
				_, atChannel := r.Channel(ctx, "c")
				_, atPointer := r.ReadPointer(ctx, "u", "c")
				_, atThreads := r.Threads(ctx, "u")
				for _, is := range []struct {
					out bool
					err error
				}{{f.NoChannels, atChannel}, {f.NoPointers, atPointer}, {f.NoThreads, atThreads}} {
					if is.out && (!errors.Is(is.err, ErrMiss) || !strings.Contains(is.err.Error(), "--redis-keys")) || !is.out && is.err != nil {
						t.Errorf("--redis-keys %s: %v", c.keys, is.err)
					}
				}
				m.stop()
			}
			// A channel that is left out may have labels, so the counts of small channels are
			// unknown.
			produce(t, cl, topics, 1, channelRecord(labelled))
			m := start(t, kafka.ListenAddrs(), topics, rdb, func(cfg *Config) { cfg.Values, cfg.Keys = values, []string{"inbox"} })
			m.ready(t)
			if e, err := NewReader(rdb).Unread(t.Context(), "u", "c"); err != nil || e.Known {
				t.Errorf("%+v, %v", e, err)
			}
			if m.counted("left-out") != 2 {
				t.Errorf("%d records are left out, want 2", m.counted("left-out"))
			}
		})
	}
}

// A mixture of forms is read correctly; a value that a build cannot read is refused with an
// explanation.
func TestMixture(t *testing.T) {
	redises(t, func(t *testing.T, rdb *redis.Client) {
		own(t, rdb).apply(t, small("u", "json", 3, 1))
		own(t, pack(t, rdb)).apply(t, small("u", "packed", 4, 1))
		rdb.Set(t.Context(), epochKey, keyFormat+"e", 0)
		entries, totals, err := NewReader(rdb).Inbox(t.Context(), "u")
		if err != nil || len(entries) != 2 || totals.Unread != 7 {
			t.Errorf("%+v, %+v, %v", entries, totals, err)
		}
		later, _ := hex.DecodeString("0200")
		rdb.HSet(t.Context(), InboxKey("u"), "later", later)
		if _, _, err := NewReader(rdb).Inbox(t.Context(), "u"); err == nil || !strings.Contains(err.Error(), "version 2") || !strings.Contains(err.Error(), "update the reader") {
			t.Errorf("a later version: %v", err)
		}
	})
}

// Two members with different flags replace each other's filling, and each logs that.
func TestFormatsThatFight(t *testing.T) {
	kafka := testkit.FakeKafka(t)
	topics := testkit.Topics(t, kafka.ListenAddrs(), 1, 1)
	rdb := redisClient(t, "redis://"+testkit.Miniredis(t).Addr())
	produce(t, producer(t, kafka.ListenAddrs()), topics, 1, unreadRecord(small("u", "c", 1, 1)))
	var output testkit.Output
	start(t, kafka.ListenAddrs(), topics, rdb, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&output, nil)) }).ready(t)
	start(t, kafka.ListenAddrs(), topics, rdb, func(c *Config) { c.Values, c.Group = "packed", c.Group+"2" })
	eventually(t, "the first says so", func() bool {
		return strings.Contains(output.String(), "another member fills Redis with other --redis-values")
	})
}

// prefixes returns the kinds of keys in Redis, except the cache's own under tidemark:.
func prefixes(t *testing.T, rdb *redis.Client) string {
	var list []string
	for _, key := range rdb.Keys(t.Context(), "*").Val() {
		prefix, _, _ := strings.Cut(key, ":")
		if prefix += ":"; prefix != "tidemark:" && !slices.Contains(list, prefix) {
			list = append(list, prefix)
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// With packed values a batch of channels is one command.
func TestPackedChannelsAreOneCommand(t *testing.T) {
	c := &chunk{batch: &batch{}, format: format.Format{Packed: true}}
	for _, id := range []string{"a", "b", "gone", "deleted"} {
		r := channel{ChannelRecord: *head(id, 9, 5), gone: id == "gone"}
		r.Deleted = id == "deleted"
		c.batch.channels = append(c.batch.channels, r)
		c.channels = append(c.channels, int32(len(c.channels)))
	}
	c.writeChannels("60")
	var names [][]byte
	for _, args := range c.out.List() {
		names = append(names, []byte(*args[0].(*string)))
	}
	if got := string(bytes.Join(names, []byte(" "))); got != "mset del set" {
		t.Errorf("commands %q", got)
	}
}
