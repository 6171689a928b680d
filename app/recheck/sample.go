package recheck

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

const (
	// sampledBytes bounds the bytes that are fetched from a topic to find channels.
	sampledBytes = 64 << 10
	// sampleWait bounds the wait for an answer of the brokers.
	sampleWait = 5 * time.Second
)

// sample returns at most size random channels that records of a partition name. It reads around a
// random record among the last maxRecords of chat.messages and chat.reads before at.
func (k *Checker) sample(ctx context.Context, n int32, at projections.Position, size int) ([]string, error) {
	from := map[string]map[int32]kgo.Offset{}
	ends := map[string]int64{}
	for _, in := range []events.Input{events.Messages, events.Reads} {
		if at[in] > 0 {
			topic := k.cfg.Fold.Topics.Inputs[in]
			first := max(0, at[in]-maxRecords)
			from[topic] = map[int32]kgo.Offset{n: kgo.NewOffset().At(first + rand.N(at[in]-first))}
			ends[topic] = at[in]
		}
	}
	if len(from) == 0 {
		return nil, nil
	}
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(k.cfg.Fold.Brokers...), kgo.ClientID("tidemark-recheck"), kgo.DisableClientMetrics(),
		kgo.ConsumePartitions(from), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), // if retention has removed the offset
		kgo.FetchMaxPartitionBytes(sampledBytes), kgo.FetchMaxBytes(2 * sampledBytes), kgo.MaxConcurrentFetches(1),
	}, k.cfg.Fold.ClientOptions...)...)
	if err != nil {
		return nil, fmt.Errorf("creating a Kafka client: %w", err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, sampleWait)
	defer cancel()
	seen := map[string]bool{}
	var channels []string
	for len(from) > 0 && len(channels) < size {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			break // the records so far are enough
		}
		for _, e := range fetches.Errors() {
			return nil, fmt.Errorf("%s/%d cannot be read: %w", e.Topic, e.Partition, e.Err)
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			for _, r := range p.Records {
				if id := string(r.Key); r.Offset < ends[r.Topic] && !seen[id] && events.ValidID(r.Key) {
					seen[id] = true
					channels = append(channels, id)
				}
			}
			if len(p.Records) > 0 {
				delete(from, p.Topic) // one answer of each topic is enough
			}
		})
	}
	rand.Shuffle(len(channels), func(i, j int) { channels[i], channels[j] = channels[j], channels[i] })
	return channels[:min(size, len(channels))], nil
}
