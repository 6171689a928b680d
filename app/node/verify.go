package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/tidemark/tidemark/app/rebuild"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/processor"
)

// verifyShare bounds the hot state of a partition that this node verifies itself: the rebuild holds
// it a second time, beside all that the node has.
const verifyShare = 4

// verify rebuilds a partition that is live here beside a copy of its store, and compares. One at a
// time: it takes memory, disk and processor time from the node. It leaves out Redis, which is for
// all partitions together.
func (n *Node) verify(ctx context.Context, partition int32, progress func(share float64)) (*rebuild.Result, error) {
	if !n.verifying.TryLock() {
		return nil, errors.New("this node is verifying a partition already: wait until that has ended")
	}
	defer n.verifying.Unlock()
	if err := n.mayVerify(partition); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(n.cfg.DataDir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer guard.OnDone(n.stopping, "the end of a comparison", func(*guard.Error) {}, cancel)()
	var res *rebuild.Result
	err = guard.Err("the comparison of a partition", func() (err error) {
		res, err = rebuild.Verify(ctx, rebuild.Config{
			Brokers: n.cfg.Kafka.Brokers, ClientOptions: n.cfg.Kafka.Options, Topics: n.cfg.Topics, DataDir: dir, Partitions: []int32{partition}, Skip: n.cfg.Skip,
			Checkpoint: func(_ context.Context, p int32, to string) error { return n.processor.Checkpoint(p, to) },
			Logger:     n.cfg.Logger.With("role", "verify"),
			Report: func(p processor.RebuildProgress) {
				progress(float64(p.Done) / float64(max(p.Total, 1)))
			},
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	n.cfg.Logger.Info("a partition was compared with its topics", "partition", partition, "differences", res.Total)
	return res, nil
}

// mayVerify refuses a partition that is not live here, and one that is too large to be held twice.
func (n *Node) mayVerify(partition int32) error {
	for _, s := range n.processor.Status() {
		if s.Partition != partition {
			continue
		}
		if s.State != processor.StateLive {
			return fmt.Errorf("partition %d is %s: only a live one can be compared", partition, s.State)
		}
		stats, _, _ := n.processor.Stats(partition)
		if limit := int64(n.memory.Limit); limit > 0 && stats.HotBytes > limit/verifyShare {
			return fmt.Errorf("the hot state of partition %d has %d MiB, which the rebuild holds a second time: more than a quarter of --memory. "+
				"Run tidemark verify --node on this machine, in a process of its own", partition, stats.HotBytes>>20)
		}
		return nil
	}
	return fmt.Errorf("partition %d is not on this node: the page's view of all nodes says which node owns it", partition)
}
