package query

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tidemark/tidemark/query/queryv1"
)

// BenchmarkThreadPages measures a page of a user who follows 10,000 threads in 100 channels: the
// CPU time of the answering thread, in total and while it holds the lock of a partition. The first
// pages are those of a node that no longer keeps a list of the user.
func BenchmarkThreadPages(b *testing.B) {
	const channels, threads = 100, 10_000
	for _, partitions := range []int{4, 1} {
		var holds []time.Duration
		c := newWatchedCluster(b, partitions, func(string) func() {
			began := threadTime(b)
			return func() { holds = append(holds, threadTime(b)-began) }
		})
		for i := range channels {
			c.join(fmt.Sprintf("channel-%06d", i), "ann", "bob")
		}
		for i := range threads {
			ch, root := fmt.Sprintf("channel-%06d", i%channels), fmt.Sprintf("m%d", i/channels)
			c.post(ch, root, "bob")
			c.reply(ch, root, root+"-1", "bob", "ann")
		}
		for _, size := range []uint32{50, 1000} {
			for _, first := range []bool{false, true} {
				name := fmt.Sprintf("%d partitions, pages of %d", partitions, size)
				if first {
					name = fmt.Sprintf("%d partitions, first page of %d", partitions, size)
				}
				b.Run(name, func(b *testing.B) {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
					now, cfg := time.Now(), c.nodes[0].cfg
					cfg.Now = func() time.Time { return now }
					l := NewLocal(cfg)
					holds = holds[:0]
					var took []time.Duration
					token := ""
					for b.Loop() {
						if first {
							now, token = now.Add(time.Hour), ""
						}
						began := threadTime(b)
						res, err := l.GetThreads(b.Context(), &queryv1.GetThreadsRequest{UserId: "ann", PageSize: size, PageToken: token})
						took = append(took, threadTime(b)-began)
						if err != nil || len(res.Threads) != int(size) {
							b.Fatalf("%d threads, %v", len(res.GetThreads()), err)
						}
						token = res.NextPageToken
					}
					b.ReportMetric(0, "ns/op")
					for name, all := range map[string][]time.Duration{"call": took, "hold": holds} {
						slices.Sort(all)
						ms := func(q float64) float64 { return float64(all[int(q*float64(len(all)-1))].Microseconds()) / 1000 }
						b.ReportMetric(ms(0.5), "ms-"+name+"-p50")
						b.ReportMetric(ms(0.99), "ms-"+name+"-p99")
						b.ReportMetric(ms(1), "ms-"+name+"-max")
					}
				})
			}
		}
	}
}

// threadTime returns the CPU time that the thread has used.
func threadTime(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}
