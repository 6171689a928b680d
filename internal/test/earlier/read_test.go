package earlier

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// TestStores opens the stores of every build with default settings.
func TestStores(t *testing.T) {
	each(t, func(t *testing.T, f fixture) {
		data := f.unpacked(t, "stores.zip")
		format := uint64(0)
		for n := range int32(partitions) {
			x, err := projections.InspectHeader(processor.StoreDir(data, n), nil)
			if err != nil {
				t.Fatal(err)
			}
			format = max(format, x.Format)
		}
		if want := map[string]uint64{"story.txt": 1, "story-seeded.txt": 2, settingsStory: 3}[f.story()]; format != want {
			t.Errorf("its stores are of format %d, want %d", format, want)
		}
		f.compare(t, "the store", stored(t, data, f.story()))
	})
}

// TestSnapshots restores the snapshots of every build.
func TestSnapshots(t *testing.T) {
	each(t, func(t *testing.T, f fixture) {
		bucket, err := snapshot.OpenBucket("file://" + f.unpacked(t, "snapshots.zip"))
		if err != nil {
			t.Fatal(err)
		}
		repo := snapshot.New(bucket, snapshot.Options{})
		var restored []answers
		for n := range int32(partitions) {
			entries, err := repo.List(t.Context(), n)
			if err != nil || len(entries) != 1 || entries[0].Err != nil {
				t.Fatalf("partition %d: %+v, %v", n, entries, err)
			}
			want := entries[0].Manifest.Identity()
			want.Settings = projections.DefaultSettings()
			if err := entries[0].Fits(want); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := repo.Download(t.Context(), entries[0].Manifest, dir, nil); err != nil {
				t.Fatal(err)
			}
			p := opened(t, dir)
			restored = append(restored, answersOf(t, p, f.story()))
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
		f.compare(t, "the restored store", restored)
	})
}

// TestOutputs fills an empty Redis from the records of every build. It also continues to fill a
// Redis that the build has filled.
func TestOutputs(t *testing.T) {
	each(t, func(t *testing.T, f fixture) {
		brokers := testkit.FakeKafka(t).ListenAddrs()
		server := testkit.Miniredis(t)
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
		defer rdb.Close()
		client := testkit.Client(t, brokers, kgo.RecordPartitioner(kgo.ManualPartitioner()))
		adm := kadm.NewClient(client)
		if err := kafkaadmin.Create(t.Context(), adm, events.PrefixedTopicSpecs("", partitions, 1)); err != nil {
			t.Fatal(err)
		}
		var records []record
		f.json(t, "outputs.json", &records)
		for _, r := range records {
			k := &kgo.Record{Topic: r.Topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Timestamp: time.UnixMilli(r.Timestamp)}
			if err := client.ProduceSync(t.Context(), k).FirstErr(); err != nil {
				t.Fatal(err)
			}
			if r.Topic == events.TopicReceipts {
				if err := events.DecodeReceiptsRecord(r.Value, new(events.ReceiptsRecord)); err != nil {
					t.Errorf("a record of %s: %v", r.Topic, err)
				}
			}
		}
		f.cached(t, brokers, adm, rdb)
		f.read(t, rdb)
		fresh := values(t, rdb)

		topics := rdb.HGet(t.Context(), "tidemark:cursors", "topics").Val() // these topics have new ids
		server.FlushAll()
		keys := map[string]redisKey{}
		f.json(t, "redis.json", &keys)
		load(t, rdb, keys)
		if err := rdb.HSet(t.Context(), "tidemark:cursors", "topics", topics).Err(); err != nil {
			t.Fatal(err)
		}
		f.cached(t, brokers, adm, rdb)
		f.read(t, rdb)
		if again := values(t, rdb); strings.Join(lines(t, again), "\n") != strings.Join(lines(t, fresh), "\n") {
			t.Errorf("Redis that was %s's holds\n%s\nan empty one is filled with\n%s", filepath.Base(f.dir), lines(t, again), lines(t, fresh))
		}
	})
}

// values returns the content of Redis, except the cache's own state and keys that expire.
func values(t *testing.T, rdb *redis.Client) map[string]redisKey {
	t.Helper()
	all := dump(t, rdb)
	maps.DeleteFunc(all, func(name string, k redisKey) bool { return k.TTL > 0 || strings.HasPrefix(name, "tidemark:") })
	return all
}

// cached runs a cache until Redis has all of the topics.
func (f fixture) cached(t *testing.T, brokers []string, adm *kadm.Client, rdb *redis.Client) {
	t.Helper()
	c, err := cache.New(cache.Config{Brokers: brokers, ClientOptions: testkit.FastClientOpts(), Redis: rdb, Group: testkit.UniqueName(t, "cache")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	testkit.Await(t, "Redis holds all of the topics", func() bool {
		ready, _ := c.Ready()
		return ready && cursorsAtEnd(t, adm, rdb)
	})
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// load writes keys to Redis.
func load(t *testing.T, rdb *redis.Client, keys map[string]redisKey) {
	t.Helper()
	pipe := rdb.Pipeline()
	for name, k := range keys {
		if k.Hash != nil {
			pipe.HSet(t.Context(), name, k.Hash)
		} else {
			pipe.Set(t.Context(), name, k.String, 0)
		}
		if k.TTL > 0 {
			pipe.Expire(t.Context(), name, time.Duration(k.TTL)*time.Second)
		}
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// read compares the answers of a reader of Redis with those of the stores.
func (f fixture) read(t *testing.T, rdb *redis.Client) {
	t.Helper()
	var want []answers
	f.json(t, "answers.json", &want)
	r, ctx := cache.NewReader(rdb), t.Context()
	inboxes := map[string]int{}
	for _, a := range want {
		for _, p := range a.Pairs {
			if !p.Member {
				continue
			}
			inboxes[p.User]++
			if at, err := r.ReadPointer(ctx, p.User, p.Channel); p.Read.Seq > 0 && (err != nil || at.Seq != p.Read.Seq || at.MessageID != p.Read.ID ||
				at.At.UnixMilli() != p.Read.At) || p.Read.Seq == 0 && !errors.Is(err, cache.ErrMiss) {
				t.Errorf("Redis says that the pointer is at\n%+v, %v\nthe store\n%+v", at, err, p)
			}
			e, err := r.Unread(ctx, p.User, p.Channel)
			if a.asks(p.User, p.Channel) {
				if err != nil || e.Known {
					t.Errorf("Redis says\n%+v, %v\nand a node has to be asked", e, err)
				}
				continue
			}
			if err != nil || !e.Known || e.Unread != p.Unread || e.Mentions != p.Mentions || e.OfflineUnread != p.Offline || e.Large != p.Large ||
				e.Muted != p.Muted || e.ReadEpoch != p.Epoch || e.LastReadSeq != p.Read.Seq || !p.Large && e.FirstUnreadID != p.First.ID {
				t.Errorf("Redis says\n%+v, %v\nthe store\n%+v", e, err, p)
			}
		}
		for _, c := range a.Channels {
			if got, err := r.Channel(ctx, c.Channel); err != nil || got.HeadSeq != c.HeadSeq || got.HeadPos != c.HeadPos || got.MemberCount != c.Members ||
				got.LatestID != c.Latest.ID {
				t.Errorf("Redis says\n%+v, %v\nthe store\n%+v", got, err, c)
			}
		}
		for _, w := range a.Threads {
			list, err := r.Threads(ctx, w.User)
			found := false
			for _, e := range list {
				found = found || e.ChannelID == w.Channel && e.ThreadID == w.Thread && e.Unread == w.Unread && e.Mentions == w.Mentions &&
					e.LastReadSeq == w.Read.Seq && e.FirstUnreadID == w.First.ID
			}
			if !found {
				t.Errorf("Redis says\n%+v, %v\nthe store\n%+v", list, err, w)
			}
		}
	}
	for user, n := range inboxes {
		if entries, _, err := r.Inbox(ctx, user); err != nil || len(entries) != n {
			t.Errorf("the inbox of %s: %d entries, %v, want %d", user, len(entries), err, n)
		}
	}
}
