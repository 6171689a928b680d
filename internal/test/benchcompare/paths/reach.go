package paths

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

type partition struct {
	topic string
	n     int32
}

// offsets are the ends of partitions, or what a group has committed of them.
type offsets map[partition]int64

// missing returns how many records lie between the offsets and the ends.
func (o offsets) missing(ends offsets) (n int64) {
	for p, end := range ends {
		n += max(0, end-o[p])
	}
	return n
}

// patience is how long a node may take to reach the ends: minutes less than a transaction lasts.
const patience = 5 * time.Minute

// reach waits until a group has committed the ends. It fails when the node ends.
func (s *stage) reach(ctx context.Context, n *node, group string, ends offsets) error {
	for until := time.Now().Add(patience); ; {
		at, err := s.committed(ctx, group)
		if err != nil {
			return err
		}
		missing := at.missing(ends)
		if missing == 0 {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("group %s still lacks %d records after %v\n%s", group, missing, patience, n.output())
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-n.ended:
			return fmt.Errorf("the node ended early: %w\n%s", n.err, n.output())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// committed returns the offsets of a group, none of a group that does not exist yet.
func (s *stage) committed(ctx context.Context, group string) (offsets, error) {
	all, err := s.adm.FetchOffsets(ctx, group)
	if kerr.IsRetriable(err) || errors.Is(err, kerr.GroupIDNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("offsets of group %s: %w", group, err)
	}
	out := offsets{}
	all.Each(func(o kadm.OffsetResponse) { out[partition{o.Topic, o.Partition}] = o.At })
	return out, nil
}
