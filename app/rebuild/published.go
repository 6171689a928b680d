package rebuild

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// Published returns the group's committed offsets, by partition: the group has published its
// changes up to there. A partition without committed offsets is missing. The node that opens a
// partition publishes the changes after them as it folds. So a store for that node must not be
// further, because the node would never publish the changes that the store already has (DESIGN §6).
func Published(ctx context.Context, adm *kadm.Client, group string, inputs [events.NumInputs]string) (map[int32]projections.Position, error) {
	offsets, err := adm.FetchOffsets(ctx, group)
	if errors.Is(err, kerr.GroupIDNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the offsets of group %s cannot be read: %w", group, err)
	}
	all := map[int32]projections.Position{}
	for i, topic := range inputs {
		for n, o := range offsets[topic] {
			if o.Err != nil {
				return nil, fmt.Errorf("%s/%d: the offset of group %s cannot be read: %w", topic, n, group, o.Err)
			}
			if o.At < 0 {
				continue
			}
			p := all[n]
			p[i] = o.At
			all[n] = p
		}
	}
	return all, nil
}

// Tellable refuses stores that hold more than a group has published. stores is the position of
// each, by partition.
func Tellable(stores map[int32]projections.Position, group string, published map[int32]projections.Position) error {
	var errs []error
	for n, at := range stores {
		up, ok := published[n]
		switch {
		case at == projections.Position{}:
		case !ok:
			errs = append(errs, fmt.Errorf("partition %d: group %s has published nothing of it, and would never publish the changes in the rebuilt "+
				"store at %v: start the node without a store, and it publishes all changes", n, group, at))
		case !up.Dominates(at):
			errs = append(errs, fmt.Errorf("partition %d: the rebuilt store is at %v, and group %s has published up to %v: the changes in between "+
				"would never be published; rebuild into an empty directory (--into), which ends at the group's offsets; or, if the logs "+
				"no longer have those records, remove the store and the group's offsets of the partition, and start the node", n, at, group, up))
		}
	}
	return errors.Join(errs...)
}
