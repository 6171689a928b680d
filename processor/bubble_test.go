package processor

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/proxy"
)

// bubble is a site in a bubble of testing/synctest (R4): the real clients and members, the embedded
// brokers, a network in memory, and a clock that stands still while any goroutine can run. A
// session of an hour is over at once, and no result depends on the speed of the machine.
type bubble struct {
	*site
	k   *kfake.Cluster
	net *kfake.VirtualNetwork
	// line is the line of the test's own clients.
	line *proxy.Line
	tr   *company
	cfg  Config // of the members, without their directories and lines
	of   []*seat
	// ids counts requests for producer ids. started counts the clients that need one.
	ids     *kfake.FaultHandle
	started int
}

// seat is one member with its line.
type seat struct {
	*member
	dir  string
	line *proxy.Line
}

// inBubble runs body in a bubble with three brokers, some traffic, and members that share the
// partitions.
func inBubble(t *testing.T, partitions int32, members int, body func(t *testing.T, b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { onTheClock(t, partitions, members, body) })
}

// onTheClock is inBubble with the machine's clock. In a bubble, a goroutine that waits for a lock
// stops the clock. The client holds a lock from a commit's first attempt to its answer, and a join
// waits for that lock. So a test whose faults make members join during commits hangs in a bubble. A
// test whose client retries a refused request at once hangs too, because the client's pause never
// passes.
func onTheClock(t *testing.T, partitions int32, members int, body func(t *testing.T, b *bubble)) {
	t.Helper()
	b := &bubble{net: &kfake.VirtualNetwork{}, line: proxy.NewLine(t)}
	b.k = testkit.FakeKafka(t, kfake.NumBrokers(3), kfake.ListenFn(b.net.Listen), kfake.Ports(9092, 9093, 9094))
	b.site = newReplicatedSite(t, b.k.ListenAddrs(), partitions, 3, kgo.Dialer(b.line.Dialer(b.net.DialContext)))
	b.ids = b.k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Count: -1, Observe: true})
	b.tr = b.company(rand.Uint64())
	b.cfg = b.forCompany("")
	b.cfg.ClientOptions = append(b.cfg.ClientOptions, kgo.SessionTimeout(6*time.Second))
	for range members {
		b.join()
	}
	b.warm()
	body(t, b)
}

// warm writes events until every client has produced, and settles. A client requests its producer
// id under a lock, and a goroutine that waits for a lock stops the bubble's clock. On a slow or
// frozen line the id would therefore never arrive.
func (b *bubble) warm() {
	b.t.Helper()
	b.settled()
	for round := 0; b.ids.Hits() < b.started+1; round++ { // the test writes, too
		if round == 50 {
			b.t.Fatalf("%d members were started, and %d clients have produced", b.started, b.ids.Hits())
		}
		b.tr.write(20)
		b.settled()
	}
}

// join starts another member.
func (b *bubble) join() *seat {
	b.t.Helper()
	m := &seat{dir: b.t.TempDir(), line: proxy.NewLine(b.t)}
	b.of = append(b.of, m)
	b.restart(m)
	return m
}

// restart starts a member again on its directory.
func (b *bubble) restart(m *seat) {
	b.t.Helper()
	b.started++
	c := b.cfg
	c.DataDir = m.dir
	c.ClientOptions = append(c.ClientOptions[:len(c.ClientOptions):len(c.ClientOptions)], kgo.Dialer(m.line.Dialer(b.net.DialContext)))
	m.member = b.start(c)
}

// members returns all started members.
func (b *bubble) members() (list []*member) {
	for _, m := range b.of {
		list = append(list, m.member)
	}
	return list
}

// settled waits until the members have shared the partitions, and folded, published and committed
// everything.
func (b *bubble) settled() {
	b.t.Helper()
	until(b.t, "the members have shared the partitions", func() bool {
		live := 0
		for _, m := range b.of {
			mine := len(m.numbers())
			if ok, _ := m.Ready(); !ok || mine < int(b.partitions)/len(b.of) {
				return false
			}
			live += mine
		}
		return live == int(b.partitions)
	})
	b.caughtUp(b.members()...)
	ends := b.ends()
	until(b.t, "everything is committed", func() bool {
		for n, at := range b.committed() {
			for in := range at {
				if max(at[in], 0) != ends[n][in] {
					return false
				}
			}
		}
		return true
	})
}

// check settles, stops the members, and compares everything that they have left with the model.
// late means that a member may have lost partitions without noticing.
func (b *bubble) check(late bool) {
	b.t.Helper()
	b.settled()
	var dirs []string
	for _, m := range b.of {
		m.stop()
		dirs = append(dirs, m.dir)
	}
	left := b.remains(b.cfg.Settings)
	b.checkStores(left, b.cfg, dirs...)
	b.checkOutputs(left, late)
}

// TestBubble: without faults everything is right, so findings of the other tests are due to their
// faults.
func TestBubble(t *testing.T) {
	inBubble(t, 4, 2, func(_ *testing.T, b *bubble) {
		b.tr.write(500)
		b.check(false)
	})
}
