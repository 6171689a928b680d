package kafkaadmin

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// FromEnds returns the ends of topics as the places where a client begins to read them. It fails if
// one of the topics has no partitions.
func FromEnds(ctx context.Context, cl *kgo.Client, topics []string) (map[string]map[int32]kgo.Offset, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, topics...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("ends of the topics %v: %w", topics, err)
	}
	from := map[string]map[int32]kgo.Offset{}
	for _, topic := range topics {
		if len(ends[topic]) == 0 {
			return nil, fmt.Errorf("topic %q has no partitions: `tidemark topics create` makes them", topic)
		}
		from[topic] = map[int32]kgo.Offset{}
	}
	ends.Each(func(o kadm.ListedOffset) { from[o.Topic][o.Partition] = kgo.NewOffset().At(o.Offset) })
	return from, nil
}

// Offsets returns where a client begins to read, as numbers.
func Offsets(from map[int32]kgo.Offset) map[int32]int64 {
	list := make(map[int32]int64, len(from))
	for p, o := range from {
		list[p] = o.EpochOffset().Offset
	}
	return list
}
