package processor

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/projections"
)

// network is the connection of a member to its brokers. It holds back produce requests, which the
// member considers sent, and delivers them later, even if the member and its connections no longer
// exist.
type network struct {
	mu      sync.Mutex
	changed *sync.Cond
	holds   bool
	cut     bool // nothing else passes either
	delayed []delayedRequest
}

type delayedRequest struct {
	to      net.Conn
	request []byte
}

func newNetwork() *network {
	n := &network{}
	n.changed = sync.NewCond(&n.mu)
	return n
}

func (n *network) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
	n.changed.Broadcast()
}

// hold holds back produce requests from now on.
func (n *network) hold() { n.set(func() { n.holds = true }) }

// separate lets nothing pass from now on.
func (n *network) separate() { n.set(func() { n.cut = true }) }

// waiting returns the number of held requests.
func (n *network) waiting() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.delayed)
}

// release delivers the held requests, waits for the brokers' answers, and lets everything pass
// again.
func (n *network) release(t testing.TB) {
	t.Helper()
	var out []delayedRequest
	n.set(func() { out, n.delayed = n.delayed, nil })
	for _, h := range out {
		if err := errors.Join(h.to.SetDeadline(time.Time{}), write(h.to, h.request)); err != nil {
			t.Fatalf("a held request is lost: %v", err)
		}
		// Whether the client or this code reads the answer, it shows that the broker has processed
		// the held request.
		_ = h.to.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := h.to.Read(make([]byte, 4)); err != nil {
			t.Logf("a held request is not answered here: %v", err)
		}
	}
	for _, h := range out {
		_ = h.to.Close() // amid an answer, which nobody needs any more
	}
	n.set(func() { n.holds, n.cut = false, false })
}

func write(to net.Conn, b []byte) error { _, err := to.Write(b); return err }

func (n *network) dial(ctx context.Context, network, host string) (net.Conn, error) {
	n.mu.Lock()
	cut := n.cut
	n.mu.Unlock()
	if cut {
		return nil, syscall.EHOSTUNREACH
	}
	c, err := new(net.Dialer).DialContext(ctx, network, host)
	if err != nil {
		return nil, err
	}
	return &through{Conn: c, by: n}, nil
}

// through is a connection through the network.
type through struct {
	net.Conn
	by    *network
	holds bool // the network holds something that was written to it
}

func (c *through) Write(b []byte) (int, error) {
	c.by.mu.Lock()
	if c.by.holds && (c.holds || len(b) > 6 && binary.BigEndian.Uint16(b[4:]) == uint16(kmsg.Produce)) {
		c.holds = true
		if n := len(c.by.delayed); n > 0 && c.by.delayed[n-1].to == c.Conn {
			c.by.delayed[n-1].request = append(c.by.delayed[n-1].request, b...)
		} else {
			c.by.delayed = append(c.by.delayed, delayedRequest{c.Conn, append([]byte(nil), b...)})
		}
		c.by.mu.Unlock()
		return len(b), nil
	}
	cut := c.by.cut
	c.by.mu.Unlock()
	if cut {
		return len(b), nil // lost on the way
	}
	return c.Conn.Write(b)
}

func (c *through) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.by.mu.Lock()
	defer c.by.mu.Unlock()
	if c.by.cut {
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *through) Close() error {
	c.by.mu.Lock()
	defer c.by.mu.Unlock()
	if c.holds && c.by.holds {
		return c.SetDeadline(time.Now()) // the member is gone, but its sent requests are not
	}
	return c.Conn.Close()
}

// TestLateRecordsDoNotStand (R6): repeatedly, the network holds back the produce requests of one of
// two members in turn, and cuts it off for longer than its session. Its successor continues. Then
// all held requests arrive, behind newer values of the same keys. In the end each key's last record
// in the log equals that of a replay.
func TestLateRecordsDoNotStand(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 4)
		seed := rand.Uint64()
		t.Logf("seed %d of the events", seed)
		tr := newTraffic(s, seed, 20)
		s.lateOwners(s.config(""), [2]string{t.TempDir(), t.TempDir()}, tr.run)
		_, replayed := s.replay()
		sameStanding(t, "two members in turn", s.outputsOf(2), replayed)
	})
}

// lateOwners makes two members owners in turn. Each loses its partitions while records are in
// transit, which arrive after the other member has continued. write writes that many events. In the
// end the members have folded everything, and are stopped.
func (s *site) lateOwners(c Config, dirs [2]string, write func(n int)) {
	s.t.Helper()
	networks := [2]*network{newNetwork(), newNetwork()}
	var members [2]*member
	for i := range members {
		c := c
		c.DataDir, c.SessionTimeout, c.StopTimeout = dirs[i], linesSession, linesSession
		c.ClientOptions = append(slices.Clone(c.ClientOptions), kgo.Dialer(networks[i].dial), kgo.RequestTimeoutOverhead(linesSession/2))
		members[i] = s.start(c)
	}
	n := int(s.partitions)
	late, rounds := 0, 4
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		at, other := round%2, 1-round%2
		members[at].ready(n / 2)
		members[other].ready(n / 2)
		write(200)
		s.caughtUp(members[:]...)
		networks[at].hold()
		write(200)
		until(s.t, "all is folded, and some of it is on its way", func() bool {
			return networks[at].waiting() > 0 && s.foldedBy(members[at])
		})
		networks[at].separate()
		members[other].ready(n)
		write(200)
		s.caughtUp(members[other])
		late += networks[at].waiting()
		networks[at].release(s.t)
		until(s.t, "both have their share again", func() bool {
			return len(members[at].numbers()) == n/2 && len(members[other].numbers()) == n/2
		})
	}
	s.caughtUp(members[:]...)
	for _, m := range members {
		m.stop()
	}
	s.t.Logf("%d connections gave out late what they had", late)
}

// foldedBy reports whether a member has folded all records of its partitions.
func (s *site) foldedBy(m *member) bool {
	ends := s.ends()
	for n, at := range m.positions() {
		if at != opening.Behind(ends[n], projections.Position{}) {
			return false
		}
	}
	return true
}
