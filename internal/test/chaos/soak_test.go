package chaos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// sample has the resources of a node at one moment.
type sample struct {
	at                               time.Duration // since the first
	resident, heap, goroutines, open float64
	store                            float64 // bytes on disk
	events                           int     // written so far
}

// measure returns the resources of a node.
func (n *node) measure() (s sample, err error) {
	res, err := http.Get(n.url + "/metrics")
	if err != nil {
		return s, err
	}
	defer res.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(res.Body)
	if err != nil {
		return s, err
	}
	for name, to := range map[string]*float64{"process_resident_memory_bytes": &s.resident, "go_memstats_heap_alloc_bytes": &s.heap,
		"go_goroutines": &s.goroutines, "process_open_fds": &s.open} {
		f := families[name]
		if f == nil || len(f.Metric) != 1 {
			return s, fmt.Errorf("%s/metrics has no %s", n.url, name)
		}
		*to = f.Metric[0].GetGauge().GetValue()
	}
	err = filepath.WalkDir(n.data, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				s.store += float64(info.Size())
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // stores come and go
			return nil
		}
		return err
	})
	return s, err
}

// bound is how much a resource of a node may grow in the second half of a run.
type bound struct {
	what  string
	of    func(sample) float64
	limit float64
	unit  float64
}

// grew returns the medians of the first and of the last fifth of the samples. Single samples go up
// and down with collections, compactions and rebalances.
func grew(samples []sample, of func(sample) float64) (from, to float64) {
	fifth := max(len(samples)/5, 1)
	return median(samples[:fifth], of), median(samples[len(samples)-fifth:], of)
}

func median(samples []sample, of func(sample) float64) float64 {
	var all []float64
	for _, s := range samples {
		all = append(all, of(s))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// asking queries a node, and opens and closes streams, until ctx is done.
func asking(ctx context.Context, n *node, users, channels []string, seed uint64) (answers, errs int) {
	client := queryv1connect.NewQueryServiceClient(http.DefaultClient, n.url)
	r := rand.New(rand.NewPCG(seed, 3))
	for ctx.Err() == nil {
		user, channel := users[r.IntN(len(users))], channels[r.IntN(len(channels))]
		one, cancel := context.WithTimeout(ctx, 2*time.Second)
		var err error
		switch r.IntN(9) {
		case 0:
			_, err = client.GetUnread(one, connect.NewRequest(&queryv1.GetUnreadRequest{UserId: user, ChannelId: channel}))
		case 1:
			_, err = client.GetInbox(one, connect.NewRequest(&queryv1.GetInboxRequest{UserId: user}))
		case 2:
			_, err = client.GetReaders(one, connect.NewRequest(&queryv1.GetReadersRequest{ChannelId: channel}))
		case 3:
			_, err = client.GetThreads(one, connect.NewRequest(&queryv1.GetThreadsRequest{UserId: user}))
		case 4:
			_, err = client.ExplainUnread(one, connect.NewRequest(&queryv1.ExplainUnreadRequest{UserId: user, ChannelId: channel}))
		case 5:
			_, err = client.ListUserChannels(one, connect.NewRequest(&queryv1.ListUserChannelsRequest{OfUserId: user}))
		case 6, 7:
			var latest *connect.Response[queryv1.GetChannelResponse]
			if latest, err = client.GetChannel(one, connect.NewRequest(&queryv1.GetChannelRequest{ChannelId: channel})); err == nil {
				if id := latest.Msg.GetLatest().GetMessageId(); id != "" {
					_, err = client.GetReceipts(one, connect.NewRequest(&queryv1.GetReceiptsRequest{ChannelId: channel, MessageId: id}))
				}
			}
		case 8:
			var stream *connect.ServerStreamForClient[queryv1.WatchUnreadResponse]
			if stream, err = client.WatchUnread(one, connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: user})); err == nil {
				for range 1 + r.IntN(3) {
					stream.Receive()
				}
				err = stream.Err()
				cancel()
				_ = stream.Close()
			}
		}
		cancel()
		if err != nil && connect.CodeOf(err) != connect.CodeNotFound { // partitions move all the time; the final check finds real errors
			errs++
		} else {
			answers++
		}
		time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
	}
	return answers, errs
}

// TestSoak (R12) runs a node for TIDEMARK_SOAK minutes under every kind of event, query and stream.
// A second node is killed or stopped repeatedly, so that partitions come and go. Meanwhile users
// are erased and snapshots taken. In the second half the node's resources must not grow beyond the
// bounds below. At the end everything is compared with the model, and nothing of the erased users
// may be left.
func TestSoak(t *testing.T) {
	minutes := number(t, "TIDEMARK_SOAK", 0)
	if minutes == 0 {
		t.Skip("runs for minutes: make soak MINUTES=10")
	}
	a := newAttack(t, 1, 2, "--snapshots", "file://"+t.TempDir(), "--snapshot-every", "1m")
	stays, other := a.nodes[0], a.nodes[1]
	var users, channels []string
	for i := range 30 {
		users = append(users, fmt.Sprintf("user%d", i))
	}
	for i := range 104 {
		channels = append(channels, fmt.Sprintf("room-%d", i))
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var answers, errs atomic.Int64
	var askers sync.WaitGroup
	for i := range 4 {
		askers.Go(func() {
			good, bad := asking(ctx, stays, users, channels, uint64(i))
			answers.Add(int64(good))
			errs.Add(int64(bad))
		})
	}

	var samples []sample
	begun := time.Now()
	total := time.Duration(minutes) * time.Minute
	nextSample, nextFault, restarts := begun, begun.Add(30*time.Second), 0
	for time.Since(begun) < total {
		a.tick()
		now := time.Now()
		if now.After(nextSample) {
			nextSample = now.Add(total / 120)
			s, err := stays.measure()
			if err != nil {
				t.Fatalf("what %s holds: %v", stays.name, err)
			}
			s.at, s.events = now.Sub(begun), a.written
			samples = append(samples, s)
		}
		if now.After(nextFault) {
			nextFault = now.Add(time.Duration(20+a.r.IntN(40)) * time.Second)
			restarts++
			a.erase()
			if a.r.IntN(2) == 0 {
				other.kill()
			} else {
				other.signal(syscall.SIGTERM)
				<-other.done
				other.cmd = nil
			}
			a.ticks(a.r.IntN(300))
			other.start()
		}
	}
	cancel()
	askers.Wait()

	half := samples[len(samples)/2:]
	written := half[len(half)-1].events - half[0].events
	const mib = 1 << 20
	bounds := []bound{
		{"resident MiB", func(s sample) float64 { return s.resident }, 40 * mib, mib},
		{"heap MiB", func(s sample) float64 { return s.heap }, 40 * mib, mib},
		{"goroutines", func(s sample) float64 { return s.goroutines }, 60, 1},
		{"open files", func(s sample) float64 { return s.open }, 40, 1},
		// The node has some of the six partitions, and a compaction may be due.
		{"store MiB", func(s sample) float64 { return s.store }, 32*mib + float64(written)*512, mib},
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%d minutes, %d restarts of the other node, %d events, %d questions answered, %d not\n", minutes, restarts, a.written, answers.Load(), errs.Load())
	fmt.Fprintf(&table, "%-14s %10s %10s %10s %10s %10s\n", "", "start", "half", "end", "growth", "bound")
	for _, b := range bounds {
		start, _ := grew(samples, b.of)
		from, to := grew(half, b.of)
		fmt.Fprintf(&table, "%-14s %10.1f %10.1f %10.1f %+10.1f %10.1f\n", b.what, start/b.unit, from/b.unit, to/b.unit, (to-from)/b.unit, b.limit/b.unit)
		if to-from > b.limit {
			t.Errorf("%s of %s grow by %.1f in the second half, at most %.1f are fine", b.what, stays.name, (to-from)/b.unit, b.limit/b.unit)
		}
	}
	t.Log("\n" + table.String())
	a.reopened = true
	a.ticks(50)
	a.check()
}

// TestGrewTakesMedians: a single outlier is not growth, a slope is.
func TestGrewTakesMedians(t *testing.T) {
	var flat, steep []sample
	for i := range 50 {
		flat = append(flat, sample{heap: float64(100 + i%2)})
		steep = append(steep, sample{heap: float64(100 + i)})
	}
	flat[3].heap, flat[48].heap = 1, 10_000
	of := func(s sample) float64 { return s.heap }
	if from, to := grew(flat, of); to-from > 1 {
		t.Errorf("flat samples grew from %v to %v", from, to)
	}
	if from, to := grew(steep, of); to-from != 40 {
		t.Errorf("steep samples grew from %v to %v, want 40 more", from, to)
	}
}
