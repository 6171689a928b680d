package cache

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// benchRecords returns deltas of a chat with ids as long as ULIDs: users × channels pairs, each at
// stamp m.
func benchRecords(users, channels int, m int64) []*kgo.Record {
	list := make([]*kgo.Record, 0, users*channels)
	for u := range users {
		for c := range channels {
			d := reading(small(fmt.Sprintf("01HUSER%019d", u), fmt.Sprintf("01HCHAN%019d", c), m, 22_222), "01HREAD0000000000000000001", 1200, t0)
			d.FirstUnread.MessageID = []byte("01HFIRST000000000000000001")
			list = append(list, unreadRecord(d))
		}
	}
	return list
}

// BenchmarkJoin measures decoding and joining one record, in batches in which each key occurs once,
// and in batches in which it occurs ten times.
func BenchmarkJoin(b *testing.B) {
	for _, times := range []int{1, 10} {
		b.Run(fmt.Sprintf("%d-of-a-key", times), func(b *testing.B) {
			var records []*kgo.Record
			for m := range times {
				records = append(records, benchRecords(2000, 10/times, int64(m+1))...)
			}
			var batch batch
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += len(records) {
				batch.reset(len(records))
				for _, r := range records {
					batch.addUnread(r, anyPart)
				}
			}
		})
	}
}

// BenchmarkWrite measures one delta from a joined batch into a real Redis, including comparison and
// encoding, for users with one delta in a batch, with five and with twenty. With "published" the
// deltas also go to a pub/sub channel. With "cold" the cache knows no value in Redis. client-us and
// redis-us are CPU time.
func BenchmarkWrite(b *testing.B) {
	for _, mode := range []string{"quiet", "published", "cold"} {
		publishes, cold := mode == "published", mode == "cold"
		for _, k := range []int{1, 5, 20} {
			b.Run(fmt.Sprintf("%s/per-user=%d", mode, k), func(b *testing.B) {
				rdb := redisClient(b, testkit.Redis(b).URL)
				w := own(b, rdb)
				if !publishes {
					w.part.publishFrom = 1
				}
				m := int64(1000)
				var batch batch
				round := func() int {
					m++
					records := benchRecords(10_000/k, k, m)
					w.join(&batch, records...)
					return len(records)
				}
				write := func() {
					if cold {
						w.part.table = newTable(1 << 20)
					}
					if n := w.send(b, &batch); n != len(batch.deltas) {
						b.Fatal(n)
					}
				}
				round()
				write() // so that the keys exist
				commands := counterOf(w.metrics.commands)
				var client, server float64
				b.ReportAllocs()
				b.ResetTimer()
				done := 0
				for done < b.N {
					b.StopTimer()
					n := round()
					c, s := processCPU(), redisCPU(b, rdb)
					b.StartTimer()
					write()
					b.StopTimer()
					client += processCPU() - c
					server += redisCPU(b, rdb) - s
					done += n
					b.StartTimer()
				}
				b.StopTimer()
				b.ReportMetric(client*1e6/float64(done), "client-us/op")
				b.ReportMetric(server*1e6/float64(done), "redis-us/op")
				b.ReportMetric((counterOf(w.metrics.commands)-commands)/float64(done), "commands/op")
			})
		}
	}
}

// BenchmarkWriteChannels measures one record of a channel.
func BenchmarkWriteChannels(b *testing.B) {
	rdb := redisClient(b, testkit.Redis(b).URL)
	w := own(b, rdb)
	var batch batch
	m := int64(0)
	b.ReportAllocs()
	s := redisCPU(b, rdb)
	done := 0
	for done < b.N {
		b.StopTimer()
		m++
		batch.reset(5000)
		for i := range 5000 {
			batch.addChannel(channelRecord(&events.ChannelRecord{
				ChannelID: fmt.Appendf(nil, "01HCHAN%019d", i), HeadSeq: uint32(m), HeadPos: uint32(m), MemberCount: 50,
				Latest: events.Head{MessageID: []byte("01HMSG00000000000000000001"), Seq: uint32(m), At: t0, SenderID: []byte("01HUSER0000000000000000001"), Preview: []byte("a short message")},
				Stamp:  events.Stamp{FoldVersion: 1, M: m},
			}), w.part)
		}
		b.StartTimer()
		if n := w.send(b, &batch); n != 5000 {
			b.Fatal(n)
		}
		done += 5000
	}
	b.ReportMetric((redisCPU(b, rdb)-s)*1e6/float64(done), "redis-us/op")
}

// BenchmarkInbox measures reading a user's inbox from a real Redis.
func BenchmarkInbox(b *testing.B) {
	for _, channels := range []int{20, 1000, 100_000} {
		b.Run(strconv.Itoa(channels), func(b *testing.B) {
			rdb := redisClient(b, testkit.Redis(b).URL)
			w := own(b, rdb)
			var batch batch
			w.send(b, w.join(&batch, benchRecords(1, channels, 1)...))
			rdb.Set(b.Context(), epochKey, keyFormat+"e", 0)
			r := NewReader(rdb)
			user := string(batch.users[0].id)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := r.Inbox(b.Context(), user); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// processCPU returns the CPU time of this process in seconds.
func processCPU() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return float64(r.Utime.Sec+r.Stime.Sec) + float64(r.Utime.Usec+r.Stime.Usec)/1e6
}

// redisCPU returns the CPU time of a redis-server in seconds.
func redisCPU(b *testing.B, rdb *redis.Client) float64 {
	info, err := rdb.Info(b.Context(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	total := 0.0
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			s, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			total += s
		}
	}
	return total
}
