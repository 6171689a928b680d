package sender

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestBrokersComeAndGo: on Apache Kafka with three replicas leaders move, and one of the brokers is
// killed and comes back. Each record is written once, in order.
func TestBrokersComeAndGo(t *testing.T) {
	k := testkit.KafkaN(t, 3)
	topic := testkit.UniqueName(t, "unread")
	if _, err := testkit.Admin(t, k.Brokers).CreateTopic(t.Context(), 3, 3, nil, topic); err != nil {
		t.Fatal(err)
	}
	compressor, err := kgo.DefaultCompressor(kgo.Lz4Compression())
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, k.Brokers, func(c *Config) { c.Compressor = compressor })
	const size = 300
	written := 0
	var sets []promised
	run := func() {
		t.Helper()
		for range 20 {
			sets = append(sets, post(t, s, numbered(topic, 3, written, written+size)...))
			written += size
		}
	}
	for round := range 3 {
		run()
		k.MoveLeader(topic, int32(round), k.Leader(topic, int32(round))%3+1)
		run()
	}
	victim := k.Leader(topic, 1)
	k.Kill(victim)
	run()
	for _, p := range sets {
		p.ok()
	}
	run()
	k.Start(victim)
	run()
	for _, p := range sets {
		p.ok()
	}
	holds(t, k.Brokers, topic, 3, written)
}
