package outputs

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CommitSync returns a function that commits for a group consumer, waits for the answer and checks
// every partition in it. may returns an error if a request must not be sent.
func CommitSync(client *kgo.Client, may func(*kmsg.OffsetCommitRequest) error) func(context.Context, map[string]map[int32]kgo.EpochOffset, map[int32]string) error {
	return func(ctx context.Context, offsets map[string]map[int32]kgo.EpochOffset, texts map[int32]string) error {
		ctx = kgo.PreCommitFnContext(ctx, func(r *kmsg.OffsetCommitRequest) error {
			if err := may(r); err != nil {
				return err
			}
			for i := range r.Topics {
				for j := range r.Topics[i].Partitions {
					p := &r.Topics[i].Partitions[j]
					text := texts[p.Partition]
					p.Metadata = &text
				}
			}
			return nil
		})
		var failed error
		client.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
			if failed = err; err != nil {
				return
			}
			var errs []error
			for _, t := range resp.Topics {
				for _, p := range t.Partitions {
					if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
						errs = append(errs, fmt.Errorf("commit %s/%d: %w", t.Topic, p.Partition, err))
					}
				}
			}
			failed = errors.Join(errs...)
		})
		return failed
	}
}
