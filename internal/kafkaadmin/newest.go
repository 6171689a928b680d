package kafkaadmin

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/events"
)

// Newest returns the tokens of the newest record in each partition of the topics, and the number of
// partitions of each topic. An answer with these tokens as `after` is no older than this call.
func Newest(ctx context.Context, adm *kadm.Client, topics ...string) (tokens []string, partitions map[string]int32, err error) {
	starts, err := adm.ListStartOffsets(ctx, topics...)
	if err != nil {
		return nil, nil, fmt.Errorf("start offsets of the topics: %w", err)
	}
	ends, err := adm.ListCommittedOffsets(ctx, topics...)
	if err != nil {
		return nil, nil, fmt.Errorf("end offsets of the topics: %w", err)
	}
	partitions = map[string]int32{}
	for _, topic := range topics {
		partitions[topic] = int32(len(ends[topic]))
		for p, end := range ends[topic] {
			start, ok := starts.Lookup(topic, p)
			err := errors.Join(end.Err, start.Err)
			if !ok {
				err = errors.New("the brokers' answer does not include its start")
			}
			if err != nil {
				return nil, nil, fmt.Errorf("the start and end of %s/%d are not known: %w", topic, p, err)
			}
			if end.Offset > start.Offset {
				tokens = append(tokens, events.RecordID{Topic: topic, Partition: p, Offset: end.Offset - 1}.String())
			}
		}
	}
	return tokens, partitions, nil
}
