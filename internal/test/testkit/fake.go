package testkit

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// FakeKafka starts a cluster of the embedded broker in this process, one broker unless opts say
// otherwise, and ends it with the test. It is not a Kafka, so a test about brokers, groups or
// offsets also runs on a real one.
func FakeKafka(t testing.TB, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	// Later options win, so callers' replace these.
	all := append([]kfake.Opt{kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(100 * time.Millisecond)}, opts...)
	c, err := kfake.NewCluster(all...)
	if err != nil {
		t.Fatalf("embedded Kafka: %v", err)
	}
	t.Cleanup(c.Close)
	return c
}

// FastClientOpts are options with which a client notices new topics, moved leaders and rebalances
// within about 100 ms, and gives a silent broker up after 3 s. With the defaults, which are right
// for production, three refused requests take 15 s, a resumed partition waits for up to 5 s, and a
// paused broker delays the client by 50 s.
func FastClientOpts() []kgo.Opt {
	return []kgo.Opt{
		kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.RetryBackoffFn(func(tries int) time.Duration {
			return min(time.Duration(tries)*20*time.Millisecond, 200*time.Millisecond) +
				rand.N(10*time.Millisecond)
		}),
		kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.HeartbeatInterval(100 * time.Millisecond),
		kgo.ProducerLinger(0),
		kgo.DialTimeout(3 * time.Second),
		kgo.RequestTimeoutOverhead(3 * time.Second), // on top of the time that a request may wait at the broker
		kgo.ProduceRequestTimeout(3 * time.Second),
		kgo.DisableClientMetrics(),
	}
}
