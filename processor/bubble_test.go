package processor

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/testkit"
)

// bubble is a site in a bubble of testing/synctest: the real clients and members, the embedded brokers, a network in
// memory and a clock that stands still while anybody has something to do. A session of an hour is over at once, and
// nothing depends on how fast the machine is.
type bubble struct {
	*site
	k   *kfake.Cluster
	net *kfake.VirtualNetwork
}

// inBubble runs body in a bubble with three brokers.
func inBubble(t *testing.T, partitions int32, body func(b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{net: &kfake.VirtualNetwork{}}
		b.k = testkit.FakeKafka(t, kfake.NumBrokers(3), kfake.ListenFn(b.net.Listen), kfake.Ports(9092, 9093, 9094))
		b.site = newReplicatedSite(t, b.k.ListenAddrs(), partitions, 3, kgo.Dialer(b.net.DialContext))
		body(b)
	})
}

func TestBubbleTry(t *testing.T) {
	inBubble(t, 2, func(b *bubble) {
		tr := b.company(rand.Uint64())
		c := b.forCompany(b.t.TempDir())
		m := b.start(c).ready(2)
		tr.write(1000)
		b.caughtUp(m)
		m.stop()
		left := b.remains(c.Settings)
		b.checkStores(left, c, c.DataDir)
		b.checkOutputs(left, false)
	})
}
