package query

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/edge"
	"github.com/tidemark/tidemark/internal/peer"
	"github.com/tidemark/tidemark/internal/watch"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/position"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// cluster stands for package processor: folded partitions, and nodes that own them. All partitions
// are real; the test determines which node owns which, and when changes are announced.
type cluster struct {
	t     testing.TB
	parts []*projections.Partition
	nodes []*node

	folding  sync.Mutex // one folds at a time
	mu       sync.Mutex
	owner    []int          // by partition: index of the node, -1 while it moves
	failed   map[int32]bool // partitions that their owner does not serve
	folded   chan struct{}  // closed and replaced at every fold and move
	watchers map[*watcher]bool
	arrivals map[*arrived]bool
	now      int64 // Unix milliseconds of the next event
}

// node is one process of a cluster. It implements Node.
type node struct {
	c     *cluster
	index int
	srv   *httptest.Server
	query queryv1connect.QueryServiceClient
	cfg   Config
	proof peer.Proof
	url   string // in the group's metadata; guarded by the cluster's mu
}

const testMoving = -1

// newCluster gives partition p to node p mod nodes.
func newCluster(t testing.TB, partitions, nodes int, configure ...func(*Config)) *cluster {
	t.Helper()
	return makeCluster(t, partitions, nodes, nil, configure...)
}

// newWatchedCluster is newCluster of one node, with a function that is called for each hold of a
// partition's lock.
func newWatchedCluster(t testing.TB, partitions int, onHold func(cause string) (done func())) *cluster {
	t.Helper()
	return makeCluster(t, partitions, 1, onHold)
}

func makeCluster(t testing.TB, partitions, nodes int, onHold func(cause string) (done func()), configure ...func(*Config)) *cluster {
	t.Helper()
	c := &cluster{
		t: t, owner: make([]int, partitions), folded: make(chan struct{}), watchers: map[*watcher]bool{},
		failed: map[int32]bool{}, arrivals: map[*arrived]bool{},
		now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli(),
	}
	fs := vfs.NewMem()
	shared := testSecrets(t)
	for p := range partitions {
		id := projections.Identity{
			ClusterID: "test", Partition: int32(p), Partitions: int32(partitions), Settings: projections.DefaultSettings(),
		}
		for in := range id.Topics {
			id.Topics[in].Name = events.InputTopics[in]
		}
		part, err := projections.Open(fmt.Sprintf("p%d", p), id, projections.Options{FS: fs, OnHold: onHold, Memory: smallMemory})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			part.Lock()
			defer part.Unlock()
			if err := part.Close(); err != nil {
				t.Error(err)
			}
		})
		c.parts = append(c.parts, part)
		c.owner[p] = p % nodes
	}
	for i := range nodes {
		n := &node{c: c, index: i}
		n.srv = httptest.NewUnstartedServer(nil)
		cfg := Config{Node: n, Self: "http://" + n.srv.Listener.Addr().String(), Logger: slog.New(slog.DiscardHandler), Peers: peer.Proof{Secrets: shared}}
		for _, f := range configure {
			f(&cfg)
		}
		n.srv.Config = edge.NewServer(Handler(cfg))
		n.cfg, n.proof = cfg, cfg.Peers
		n.srv.Start()
		n.url = n.srv.URL
		t.Cleanup(n.srv.Close)
		n.query = queryv1connect.NewQueryServiceClient(n.srv.Client(), n.srv.URL)
		c.nodes = append(c.nodes, n)
	}
	return c
}

// smallMemory is the memory of each partition. With TIDEMARK_TEST_SMALL_MEMORY in the environment,
// every channel is cold after each event, unless something of it waits.
func smallMemory() int64 {
	if os.Getenv("TIDEMARK_TEST_SMALL_MEMORY") == "" {
		return 0
	}
	return 1
}

// rest makes channels cold: they are stored with the first cut, and leave with the second.
func (c *cluster) rest(p *projections.Partition) {
	c.t.Helper()
	for range 2 {
		cut, err := p.Cut()
		if err == nil {
			err = cut.Apply()
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// testSecrets is a secret of its own.
func testSecrets(t testing.TB) *peer.Secrets {
	t.Helper()
	file := filepath.Join(t.TempDir(), "peers")
	if err := os.WriteFile(file, []byte(rand.Text()+rand.Text()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := peer.OpenSecrets(file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// move gives partition p to another node, or to testMoving.
func (c *cluster) move(p int32, to int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(p)
	c.owner[p] = to
	c.wake()
}

// fail lets partition p fail at its owner, or be served again.
func (c *cluster) fail(p int32, failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if failed {
		c.end(p)
	}
	c.failed[p] = failed
	c.wake()
}

// end ends the watches of partition p. mu is held.
func (c *cluster) end(p int32) {
	for a := range c.arrivals {
		if a.node == c.owner[p] && !a.closed {
			a.closed = true
			close(a.signal)
		}
	}
	for w := range c.watchers {
		if w.p == p && !w.closed {
			w.closed = true
			close(w.signal)
		}
	}
}

// wake wakes all waiters. The caller holds mu.
func (c *cluster) wake() {
	close(c.folded)
	c.folded = make(chan struct{})
}

// fold runs f on the partition of a channel, with the offset of its record, and notifies the
// watchers.
func (c *cluster) fold(in events.Input, channel string, f func(p *projections.Partition, offset, now int64) projections.Outcome) string {
	c.t.Helper()
	number := partitionOf(channel, int32(len(c.parts)))
	p := c.parts[number]
	c.folding.Lock()
	defer c.folding.Unlock()
	c.mu.Lock()
	c.now += 1000
	now := c.now
	c.mu.Unlock()
	p.Lock()
	offset := p.Position()[in]
	o := f(p, offset, now)
	p.Unlock()
	if o == projections.OutcomeTooManyHeld {
		c.t.Fatalf("%v at %d: too many held", in, offset)
	}
	var d projections.Deltas
	p.Drain(&d, true)
	if smallMemory() != 0 {
		c.rest(p)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range d.Records {
		for a := range c.arrivals {
			if r.Topic == projections.OutUnread && a.user == string(r.UserID) && a.node == c.owner[number] {
				a.note(number)
			}
		}
		for w := range c.watchers {
			if w.p != number || w.closed {
				continue
			}
			mine := r.Topic == projections.OutUnread && w.user == string(r.UserID)
			if r.Topic == projections.OutChannels {
				mine = true // to all watchers, as the processor's hub does for large channels
			}
			if mine {
				w.add(string(r.ChannelID))
			}
		}
	}
	c.wake()
	return testTopics.Token(in, number, offset)
}

func (c *cluster) message(channel string, m events.Message) string {
	m.ChannelID = []byte(channel)
	return c.fold(events.Messages, channel, func(p *projections.Partition, offset, now int64) projections.Outcome {
		if m.OccurredAt == 0 {
			m.OccurredAt = now
		}
		return p.FoldMessage(&m, offset, now)
	})
}

func (c *cluster) join(channel string, users ...string) string {
	m := events.Message{Kind: events.KindMembersJoined}
	for _, u := range users {
		m.IDs = append(m.IDs, []byte(u))
	}
	return c.message(channel, m)
}

func (c *cluster) leave(channel, user string) string {
	return c.message(channel, events.Message{Kind: events.KindMembersLeft, IDs: [][]byte{[]byte(user)}})
}

func (c *cluster) post(channel, messageID, sender string, mentions ...string) string {
	m := events.Message{
		Kind: events.KindMessagePosted, MessageID: []byte(messageID), SenderID: []byte(sender), Preview: []byte("hi " + messageID),
	}
	for _, u := range mentions {
		m.IDs = append(m.IDs, []byte(u))
	}
	return c.message(channel, m)
}

func (c *cluster) read(r events.Read, channel, user string) string {
	r.ChannelID, r.UserID = []byte(channel), []byte(user)
	return c.fold(events.Reads, channel, func(p *projections.Partition, offset, now int64) projections.Outcome {
		r.OccurredAt = now
		return p.FoldRead(&r, offset, now)
	})
}

func (c *cluster) readUpTo(channel, user string, seq uint32) string {
	return c.read(events.Read{Kind: events.KindReadUpTo, Target: events.TargetSeq, Seq: seq}, channel, user)
}

func (c *cluster) mute(channel, user string, muted bool) string {
	return c.read(events.Read{Kind: events.KindChannelMuted, Muted: muted}, channel, user)
}

func (n *node) Partitions() int32 { return int32(len(n.c.parts)) }

func (n *node) Live(p int32) (*projections.Partition, error) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if n.c.owner[p] != n.index {
		return nil, fmt.Errorf("partition %d is not here", p)
	}
	if n.c.failed[p] {
		return nil, fmt.Errorf("partition %d has failed", p)
	}
	return n.c.parts[p], nil
}

func (n *node) Wait(ctx context.Context, p int32, in events.Input, offset int64) error {
	for {
		n.c.mu.Lock()
		folded := n.c.folded
		n.c.mu.Unlock()
		part, err := n.Live(p)
		if err != nil {
			return err
		}
		part.RLock()
		done := part.Position()[in] > offset
		part.RUnlock()
		if done {
			return nil
		}
		select {
		case <-folded:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (n *node) Owner(_ context.Context, p int32) (string, error) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if n.c.owner[p] == testMoving {
		return "", errors.New("the group is rebalancing")
	}
	return n.c.nodes[n.c.owner[p]].url, nil
}

// MayHold uses the users that a partition of this node had when it failed.
func (n *node) MayHold(p int32, user uint64) bool {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	return n.c.owner[p] != n.index || !n.c.failed[p] || n.c.parts[p].Known().May(user)
}

func (n *node) RelayKey(url string) string { return "the key of " + url }

func (n *node) Watch(p int32, user string) (watch.Watcher, error) {
	if _, err := n.Live(p); err != nil {
		return nil, err
	}
	w := &watcher{c: n.c, p: p, user: user, signal: make(chan struct{}, 1), ids: map[string]bool{}}
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.c.watchers[w] = true
	return w, nil
}

func (n *node) Arrivals(user string) watch.Arrivals {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	a := &arrived{c: n.c, node: n.index, user: user, signal: make(chan struct{}, 1), fresh: map[int32]bool{}, followed: map[int32]bool{}}
	n.c.arrivals[a] = true
	return a
}

type arrived struct {
	c               *cluster
	node            int
	user            string
	signal          chan struct{}
	closed          bool
	fresh, followed map[int32]bool
}

// note runs with mu held.
func (a *arrived) note(p int32) {
	if a.closed || a.followed[p] {
		return
	}
	a.fresh[p] = true
	select {
	case a.signal <- struct{}{}:
	default:
	}
}

func (a *arrived) Signal() <-chan struct{} { return a.signal }

func (a *arrived) Partitions() []int32 {
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	ps := slices.Sorted(maps.Keys(a.fresh))
	clear(a.fresh)
	return ps
}

func (a *arrived) Follow(p int32) {
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	a.followed[p] = true
	delete(a.fresh, p)
}

func (a *arrived) Stop() {
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	delete(a.c.arrivals, a)
	clear(a.fresh)
}

type watcher struct {
	c      *cluster
	p      int32
	user   string
	signal chan struct{}
	closed bool
	ids    map[string]bool
}

// add runs with mu held.
func (w *watcher) add(channel string) {
	w.ids[channel] = true
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

func (w *watcher) Signal() <-chan struct{} { return w.signal }

func (w *watcher) Changed() []string {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	var out []string
	for id := range w.ids {
		out = append(out, id)
	}
	clear(w.ids)
	return out
}

func (w *watcher) Stop() {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	delete(w.c.watchers, w)
}

// channelOn is a channel id, beginning with prefix, of partition p.
func (c *cluster) channelOn(prefix string, p int32) string {
	for i := 0; ; i++ {
		if id := fmt.Sprintf("%s%d", prefix, i); partitionOf(id, int32(len(c.parts))) == p {
			return id
		}
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var testTopics = position.Topics(events.InputTopics)
