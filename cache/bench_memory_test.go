package cache

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// BenchmarkMemory measures the memory of a pair in a real Redis: for users with 5 direct messages
// each and for users with 50 channels of 50 members each, and for four times as many of both, with
// short ids and with ULIDs, for each form of values and choice of families, and for a HINCRBY
// counter in a hash of each user. bytes/pair is the difference of used_memory. redis-us/op is Redis'
// CPU time for a delta of an existing pair.
func BenchmarkMemory(b *testing.B) {
	for _, mix := range []struct {
		name                     string
		users, channels, members int
	}{{"direct", 10_000, 25_000, 2}, {"groups", 1000, 1000, 50}, {"direct-larger", 40_000, 100_000, 2}, {"groups-larger", 4000, 4000, 50}} {
		for _, ids := range []string{"short", "ulid"} {
			for _, c := range []struct{ values, keys string }{
				{"json", "inbox,pointers,channels,threads"}, {"json", "inbox"},
				{"packed", "inbox,pointers,channels,threads"}, {"packed", "inbox,channels"}, {"packed", "inbox"}, {"HINCRBY", ""},
			} {
				b.Run(fmt.Sprintf("%s/%s/%s/%s", mix.name, ids, c.values, c.keys), func(b *testing.B) {
					rdb := redisClient(b, testkit.Redis(b).URL)
					before := usedMemory(b, rdb)
					pairs := mix.channels * mix.members
					id := func(kind string, n int) string {
						if ids == "ulid" {
							return fmt.Sprintf("01ARZ3NDEKTSV4RR%s%09d", strings.ToUpper(kind), n)
						}
						return kind + strconv.Itoa(n)
					}
					member := func(channel, j int) string {
						return id("u", (int((uint64(channel)*0x9E3779B97F4A7C15)>>33)+j*7)%mix.users)
					}
					write := countWith(b, rdb, member, id, mix.channels, mix.members)
					if c.values != "HINCRBY" {
						write = cacheWith(b, rdb, c.values, strings.Split(c.keys, ","), member, id, mix.channels, mix.members)
					}
					write(1)
					used := usedMemory(b, rdb) - before
					cpu := redisCPU(b, rdb)
					b.ResetTimer()
					rounds := 0
					for b.Loop() {
						rounds++
						write(int64(rounds + 1))
					}
					b.ReportMetric(float64(used)/float64(pairs), "bytes/pair")
					b.ReportMetric((redisCPU(b, rdb)-cpu)*1e6/float64(pairs*rounds), "redis-us/op")
				})
			}
		}
	}
}

// cacheWith writes each pair and each channel as the cache does.
func cacheWith(b *testing.B, rdb *redis.Client, values string, keys []string, member func(int, int) string, id func(string, int) string, channels, members int) func(m int64) {
	cfg, err := Config{Brokers: []string{"none"}, Redis: rdb, Values: values, Keys: keys}.withDefaults()
	if err != nil {
		b.Fatal(err)
	}
	w := own(b, rdb)
	w.format, w.part.publishFrom = cfg.format, 1
	return func(m int64) {
		var batch batch
		var records []*kgo.Record
		flush := func() {
			w.send(b, w.join(&batch, records...))
			records = records[:0]
		}
		for c := range channels {
			of := id("c", c)
			for j := range members {
				d := reading(small(member(c, j), of, 2_000_000+int64(c)+m, 1_000_000+int64(c)+m), id("m", 7_000_000+c), 990+uint32(m), t0+int64(c))
				d.Unread, d.Latest.Seq, d.Mentions, d.FirstUnread.MessageID = 3, 1000+uint32(m), 0, []byte(id("m", 8_000_000+c))
				records = append(records, unreadRecord(d))
			}
			records = append(records, channelRecord(&events.ChannelRecord{
				ChannelID: []byte(of), HeadSeq: 1000 + uint32(m), HeadPos: 1000 + uint32(m), MemberCount: uint32(members),
				Latest: events.Head{MessageID: []byte(id("m", 9_000_000+c)), Seq: 1000, At: t0, SenderID: []byte(member(c, 0)), Preview: []byte("shall we meet at nine?")},
				Stamp:  events.Stamp{FoldVersion: 1, M: 2_000_000 + int64(c) + m},
			}))
			if len(records) >= 20_000 {
				flush()
			}
		}
		flush()
	}
}

// countWith writes the simple counter with which Tidemark is compared.
func countWith(b *testing.B, rdb *redis.Client, member func(int, int) string, id func(string, int) string, channels, members int) func(m int64) {
	return func(int64) {
		pipe := rdb.Pipeline()
		for c := range channels {
			for j := range members {
				pipe.HIncrBy(b.Context(), "unread:"+member(c, j), id("c", c), 1)
			}
			if pipe.Len() >= 500 {
				if _, err := pipe.Exec(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		}
		if _, err := pipe.Exec(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// usedMemory returns the memory of a redis-server's data in bytes.
func usedMemory(b *testing.B, rdb *redis.Client) int64 {
	info, err := rdb.InfoMap(b.Context(), "memory").Result()
	if err != nil {
		b.Fatal(err)
	}
	n, err := strconv.ParseInt(info["Memory"]["used_memory"], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}
