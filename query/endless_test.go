package query

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/edge"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/proxy"
	"github.com/tidemark/tidemark/query/queryv1"
)

// Hundreds of crashes (B9): a node releases all resources of calls and streams to other nodes,
// however these end.

// mortalNode is a node that crashes and comes back, as a process does: without its former state.
type mortalNode struct {
	*node
	line      *proxy.Proxy // in front of its first address
	home      string       // that address
	server    *http.Server
	transport *http.Transport
	serving   sync.WaitGroup
}

// soon is the duration of timers. net/http keeps the connection of an ended stream for that long.
// With longer timers, each dead process here would keep all of its connections.
const soon = 100 * time.Millisecond

// mortal turns a node of a cluster into a peer.
func mortal(t *testing.T, n *node) *mortalNode {
	p := &mortalNode{node: n}
	n.srv.Close()
	t.Cleanup(func() { p.die() })
	p.live("127.0.0.1:0")
	p.home = p.server.Addr
	p.line = proxy.New(t, p.home)
	p.die() // and starts as the process that the line leads to
	p.live(p.home)
	p.comeHome()
	return p
}

// live starts a process at an address.
func (p *mortalNode) live(addr string) {
	p.c.t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		p.c.t.Fatal(err)
	}
	p.transport = PeerTransport(nil)
	url := "http://" + l.Addr().String()
	self := url
	if addr == p.home {
		self = "http://" + p.line.Addr()
	}
	p.server = edge.NewServer(Handler(Config{Node: p.node, Self: self, Peers: p.proof, Logger: slog.New(slog.DiscardHandler), Transport: p.transport,
		sendTimeout: soon, bodyTimeout: soon, answerTimeout: soon}))
	p.server.IdleTimeout = soon
	p.server.Addr = l.Addr().String()
	p.serving.Go(func() { _ = p.server.Serve(l) }) // ends with die
	p.tell(url)
}

// comeHome makes the other nodes reach it over its line.
func (p *mortalNode) comeHome() { p.tell("http://" + p.line.Addr()) }

// tell sets its address in the group.
func (p *mortalNode) tell(url string) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.url = url
}

func (p *mortalNode) die() {
	_ = p.server.Close()
	p.serving.Wait()
	p.transport.CloseIdleConnections()
}

// TestHundredsOfDeaths (B9): the peers of a node die hundreds of times, come back at the same
// address or another, break off, freeze, and hand partitions over, while the node sends calls and
// streams to them. The second half uses no more memory, files and goroutines than the first, and no
// answer is wrong.
func TestHundredsOfDeaths(t *testing.T) {
	const partitions = 6
	transport := PeerTransport(nil)
	transport.IdleConnTimeout = soon
	c := newCluster(t, partitions, 3, func(c *Config) { c.Transport = transport })
	peers := []*mortalNode{mortal(t, c.nodes[1]), mortal(t, c.nodes[2])}
	var channels []string
	for p := range int32(partitions) {
		channel := c.channelOn("room", p)
		channels = append(channels, channel)
		c.join(channel, "ann", "bob")
		c.post(channel, "m1", "bob")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	asked := c.nodes[0]
	var tally struct {
		sync.Mutex
		answers, refusals int
	}
	expect := func(err error, wrong string) {
		tally.Lock()
		defer tally.Unlock()
		switch code := connect.CodeOf(err); {
		case err == nil && wrong == "":
			tally.answers++
		case err == nil:
			t.Error(wrong)
		case code == connect.CodeUnavailable, code == connect.CodeDeadlineExceeded, code == connect.CodeCanceled:
			tally.refusals++
		default:
			t.Errorf("where a node died, the answer is %v", err)
		}
	}
	// calls sends every kind of call concurrently. The callers give up after patience. A stream
	// ends after a number of frames. The second frame never comes, so the stream is open when
	// something happens.
	calls := func(patience time.Duration, frames int) *sync.WaitGroup {
		var wg sync.WaitGroup
		ask := func(f func(ctx context.Context) (wrong string, err error)) {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				wrong, err := f(ctx)
				expect(err, wrong)
			})
		}
		channel := channels[r.IntN(partitions)]
		ask(func(ctx context.Context) (string, error) {
			res, err := asked.query.GetUnread(ctx, connect.NewRequest(&queryv1.GetUnreadRequest{UserId: "ann", ChannelId: channel}))
			if err == nil && res.Msg.Unread != 1 {
				return fmt.Sprintf("%s has %d unread, want 1", channel, res.Msg.Unread), nil
			}
			return "", err
		})
		ask(func(ctx context.Context) (string, error) {
			res, err := asked.query.GetInbox(ctx, connect.NewRequest(&queryv1.GetInboxRequest{UserId: "ann"}))
			if err == nil && res.Msg.Totals.Unread != partitions {
				return fmt.Sprintf("%d unread in all, want %d", res.Msg.Totals.Unread, partitions), nil
			}
			return "", err
		})
		ask(func(ctx context.Context) (string, error) {
			stream, err := asked.query.WatchUnread(ctx, connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: "ann"}))
			if err != nil {
				return "", err
			}
			defer func() { _ = stream.Close() }() // it has ended, or the caller has given up
			for range frames {
				if !stream.Receive() {
					return "", stream.Err()
				}
				if n := stream.Msg().GetSnapshot().GetTotals().GetUnread(); n != partitions {
					return fmt.Sprintf("a stream begins with %d unread, want %d", n, partitions), nil
				}
			}
			return "", nil
		})
		return &wg
	}
	deaths := 0
	happen := func() {
		p := peers[r.IntN(len(peers))]
		patience, frames := 10*time.Millisecond, 1+r.IntN(3)/2
		switch r.IntN(12) {
		case 0:
			patience = 5 * time.Millisecond
			p.line.Freeze()
			defer p.line.Mend()
		case 1:
			number := int32(1 + r.IntN(2))
			c.mu.Lock()
			from := c.owner[number]
			c.mu.Unlock()
			c.move(number, testMoving)
			defer c.move(number, 3-from)
		case 2, 3:
			wg := calls(patience, frames)
			defer wg.Wait()
			p.line.Break()
		default:
			wg := calls(patience, frames)
			p.die()
			deaths++
			wg.Wait()
			if r.IntN(12) == 0 {
				p.live("127.0.0.1:0")
			} else {
				p.live(p.home)
				p.comeHome()
			}
		}
		calls(patience, frames).Wait()
	}
	total := 300
	if testing.Short() {
		total = 100
	}
	begun := time.Now()
	testkit.NoGrowth(t, testkit.Usage{Goroutines: 10, Descriptors: 10, Heap: 2 << 20, Resident: 48 << 20}, func() {
		for goal := deaths + total/2; deaths < goal; {
			happen()
		}
		before := tally.answers
		for tally.answers < before+3 { // none of these three fails
			before = tally.answers
			calls(20*time.Second, 1).Wait()
		}
	})
	t.Logf("%d deaths, %d answers, %d refusals in %s", deaths, tally.answers, tally.refusals, time.Since(begun).Round(time.Millisecond))
	if tally.refusals == 0 {
		t.Error("nobody was refused: the deaths came too late")
	}
}
