package query

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/query/queryv1"
)

// BenchmarkInbox100k is a first page with totals, of a user in 100,000 channels, over HTTP.
func BenchmarkInbox100k(b *testing.B) {
	const channels = 100_000
	c := newCluster(b, 4, 1)
	for i := range channels {
		ch := fmt.Sprintf("channel-%06d", i)
		c.join(ch, "ann", "bob")
		c.post(ch, "m", "bob")
		if i%2 == 0 {
			c.readUpTo(ch, "ann", 1)
		}
	}
	for _, size := range []uint32{50, 1000} {
		b.Run(fmt.Sprintf("page of %d", size), func(b *testing.B) {
			for b.Loop() {
				res := c.nodes[0].inbox(b, &queryv1.GetInboxRequest{UserId: "ann", PageSize: size})
				if len(res.Channels) != int(size) || res.Totals.Unread != channels/2 {
					b.Fatalf("%d channels, totals %v", len(res.Channels), res.Totals)
				}
			}
		})
	}
}

// BenchmarkGetUnread sends GetUnread at a steady rate over loopback and reports how long answers
// take, counted from when each call was due, so that a stall counts for all calls that it delays.
// TIDEMARK_BENCH_RATE sets the calls per second, 5,000 if it is not set.
func BenchmarkGetUnread(b *testing.B) {
	rate := 5000
	if s := os.Getenv("TIDEMARK_BENCH_RATE"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			b.Fatal(err)
		}
		rate = n
	}
	c := newCluster(b, 4, 1)
	for i := range 1000 {
		ch := fmt.Sprintf("channel-%06d", i)
		c.join(ch, "ann", "bob")
		c.post(ch, "m", "bob")
	}
	calls := make([][]byte, 1000)
	for i := range calls {
		body := fmt.Sprintf(`{"user_id":"ann","channel_id":"channel-%06d"}`, i)
		calls[i] = fmt.Appendf(nil, "POST /tidemark.query.v1.QueryService/GetUnread HTTP/1.1\r\nHost: x\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	const connections = 16
	due := make(chan int, connections)
	took := make([]time.Duration, b.N)
	start := time.Now()
	dueAt := func(i int) time.Time { return start.Add(time.Duration(i) * time.Second / time.Duration(rate)) }
	var wg sync.WaitGroup
	for range connections {
		conn, err := net.Dial("tcp", c.nodes[0].srv.Listener.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		wg.Go(func() {
			r := bufio.NewReader(conn)
			for i := range due {
				if err := call(conn, r, calls[i%len(calls)]); err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(dueAt(i))
			}
		})
	}
	start = time.Now()
	for i := range b.N {
		time.Sleep(time.Until(dueAt(i)))
		due <- i
	}
	close(due)
	wg.Wait()
	b.StopTimer()
	slices.Sort(took)
	at := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Microseconds()) }
	b.ReportMetric(at(0.50), "p50-us")
	b.ReportMetric(at(0.99), "p99-us")
	b.ReportMetric(at(0.999), "p999-us")
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "calls/s")
}

// call is a client that costs almost nothing, so that the server is measured.
func call(conn net.Conn, r *bufio.Reader, request []byte) error {
	if _, err := conn.Write(request); err != nil {
		return err
	}
	status, err := r.ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(status, "HTTP/1.1 200") {
		return fmt.Errorf("answered %q", status)
	}
	length := 0
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if n, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(n))); err != nil {
				return err
			}
		}
		if len(line) == 2 {
			break
		}
	}
	_, err = r.Discard(length)
	return err
}

// BenchmarkThreads10k measures any page of a user who follows 10,000 threads in 100 channels, over
// HTTP.
func BenchmarkThreads10k(b *testing.B) {
	const channels, threads = 100, 10_000
	c := newCluster(b, 4, 1)
	for i := range channels {
		c.join(fmt.Sprintf("channel-%06d", i), "ann", "bob")
	}
	for i := range threads {
		ch, root := fmt.Sprintf("channel-%06d", i%channels), fmt.Sprintf("m%d", i/channels)
		c.post(ch, root, "bob")
		c.reply(ch, root, root+"-1", "bob", "ann")
	}
	for _, size := range []uint32{50, 1000} {
		b.Run(fmt.Sprintf("pages of %d", size), func(b *testing.B) {
			token := ""
			for b.Loop() {
				res, err := c.nodes[0].query.GetThreads(b.Context(), connect.NewRequest(&queryv1.GetThreadsRequest{
					UserId: "ann", PageSize: size, PageToken: token}))
				if err != nil || len(res.Msg.Threads) != int(size) {
					b.Fatalf("%d threads, %v", len(res.Msg.Threads), err)
				}
				token = res.Msg.NextPageToken
			}
		})
	}
}
