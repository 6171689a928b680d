package gateway_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// A thousand devices (B9): a gateway releases all resources of a connection, its subscriptions and
// its queue, however the connection ends.

// fleeting is a device that disappears soon.
type fleeting struct {
	url string
	raw net.Conn // below the WebSocket
	ws  *websocket.Conn
}

// dialRaw connects, and keeps the underlying connection.
func dialRaw(ctx context.Context, url, user string) (*fleeting, error) {
	f := &fleeting{url: url}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		f.raw = c
		return c, err
	}}
	var err error
	f.ws, _, err = websocket.Dial(ctx, url+"/v1/socket?user_id="+user, //nolint:bodyclose // Dial sees to it
		&websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	return f, err
}

// reset ends the connection without a close frame, like a machine that disappears.
func (f *fleeting) reset() {
	if tcp, ok := f.raw.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = f.raw.Close()
	_ = f.ws.CloseNow() // frees the client's resources
}

// frames reads up to n frames, fewer if the connection ends.
func (f *fleeting) frames(ctx context.Context, n int) {
	for range n {
		if _, _, err := f.ws.Read(ctx); err != nil {
			return
		}
	}
}

func (f *fleeting) send(ctx context.Context, text string) {
	_ = f.ws.Write(ctx, websocket.MessageText, []byte(text)) // it may be closed already
}

// fates are the ways in which a connection ends.
var fates = map[string]func(ctx context.Context, f *fleeting, r *rand.Rand){
	"gone at once": func(context.Context, *fleeting, *rand.Rand) {},
	"gone with everything focused": func(ctx context.Context, f *fleeting, _ *rand.Rand) {
		f.frames(ctx, 2)
		for i := range 5 {
			f.send(ctx, fmt.Sprintf(`{"type":"channel.focus","channel_id":"room%d"}`, i))
			f.send(ctx, fmt.Sprintf(`{"type":"channel.focus","channel_id":"room%d","thread_id":"t%d"}`, i, i))
		}
		f.frames(ctx, 1)
	},
	"gone while inboxes are read": func(ctx context.Context, f *fleeting, _ *rand.Rand) {
		for range 5 {
			f.send(ctx, `{"type":"sync"}`)
		}
	},
	"gone while an owner is asked": func(ctx context.Context, f *fleeting, _ *rand.Rand) {
		f.frames(ctx, 2)
		f.send(ctx, `{"type":"read_state","id":"1","channel_id":"room0"}`)
		f.send(ctx, `{"type":"mark_read","id":"2","channel_id":"room0","message_id":"m0"}`)
	},
	"gone in the middle of a frame": func(_ context.Context, f *fleeting, _ *rand.Rand) {
		_, _ = f.raw.Write([]byte{0x81, 0xfe, 0x10, 0, 1, 2, 3, 4, 'x'})
	},
	"closed in order": func(ctx context.Context, f *fleeting, _ *rand.Rand) {
		f.frames(ctx, 2)
		f.send(ctx, `{"type":"channel.focus","channel_id":"room1"}`)
		_ = f.ws.Close(websocket.StatusNormalClosure, "")
	},
	"closed for a frame that is none": func(ctx context.Context, f *fleeting, _ *rand.Rand) {
		_ = f.ws.Write(ctx, websocket.MessageBinary, []byte("text is meant"))
		f.frames(ctx, 1000)
	},
	"closed for a frame that is too large": func(ctx context.Context, f *fleeting, _ *rand.Rand) {
		f.send(ctx, strings.Repeat(" ", 70_000))
		f.frames(ctx, 1000)
	},
	"there for a while": func(ctx context.Context, f *fleeting, r *rand.Rand) { f.frames(ctx, 2+r.IntN(20)) },
}

// metric returns the value of a metric of the node.
func metric(t *testing.T, url, name string) string {
	t.Helper()
	res, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(n)
		}
	}
	t.Fatalf("%s/metrics has no %s", url, name)
	return ""
}

// TestThousandDevices (B9): devices connect and break off a thousand times while messages come,
// sometimes enough at once to overflow a device's queue. After the second half the process uses no
// more than after the first, and no user is connected.
func TestThousandDevices(t *testing.T) {
	limits := boundless
	limits.QueueBytes = 5 << 10 // less than a burst of messages
	limits.FramesPerSecond, limits.FramesBurst = 1e6, 1e6
	limits.AddressFramesPerSecond, limits.AddressFramesBurst = 1e6, 1e6
	s := start(t, dev.Config{Gateway: gateway.Config{Limits: limits}})
	users := []string{"ann", "bob", "cleo", "dora"}
	var channels []string
	for i := range 5 {
		channels = append(channels, joined(fmt.Sprintf("room%d", i), users...))
	}
	emit(t, s.URL, append(channels, posted("room0", "m0", "zoe"))...)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var names []string
	for name := range fates {
		names = append(names, name)
	}
	total := 1000
	if testing.Short() {
		total = 300
	}
	const atOnce = 5
	var met, failed atomic.Int64
	posts := 0
	begun := time.Now()
	const open = "tidemark_gateway_connections"
	come := func(total int) {
		var wg sync.WaitGroup
		for w := range atOnce {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			wg.Go(func() {
				for range total / atOnce {
					dialing, cancel := context.WithTimeout(context.Background(), patience)
					f, err := dialRaw(dialing, s.URL, users[r.IntN(len(users))])
					cancel()
					if err != nil {
						failed.Add(1)
						continue
					}
					ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond) // a device that is connected uses part of it
					fates[names[r.IntN(len(names))]](ctx, f, r)
					cancel()
					f.reset()
					met.Add(1)
				}
			})
		}
		done := make(chan struct{})
		go func() { wg.Wait(); close(done) }()
		for i := range 60 { // makes the brokers, which are in this process, keep the same amount everywhere
			burst := 1
			if i%6 == 0 {
				burst = 12
			}
			var list []string
			for range burst {
				posts++
				list = append(list, posted(fmt.Sprintf("room%d", posts%5), fmt.Sprintf("m%d", posts), "zoe"))
			}
			emit(t, s.URL, list...)
			select {
			case <-done:
			case <-time.After(20 * time.Millisecond):
			}
		}
		<-done
		testkit.Await(t, "no connection is open, as nobody is there", func() bool { return metric(t, s.URL, open) == "0" })
	}
	come(total / 5) // the stores still grow during the first ones
	testkit.NoGrowth(t, testkit.Usage{Goroutines: 12, Descriptors: 12, Heap: 3 << 19, Resident: 64 << 20}, func() { come(total * 2 / 5) })
	t.Logf("%d connections, %d in vain, %s too slow, %d messages in %s", met.Load(), failed.Load(),
		metric(t, s.URL, "tidemark_gateway_slow_clients_total"), posts, time.Since(begun).Round(time.Millisecond))
	if met.Load() < int64(total/2) {
		t.Error("most did not even connect")
	}
}
