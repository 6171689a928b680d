package recheck

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/retry"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// Node is the processor of the process.
type Node interface {
	Status() []processor.PartitionStatus
	Live(n int32) (*projections.Partition, error)
}

// Config configures a Checker. All fields except Registerer must be set.
type Config struct {
	PerMinute int // channels a minute
	Node      Node
	// Fold is the configuration of the node's processor: brokers, topics, settings, records to
	// skip, data directory. A round makes a directory of its own there.
	Fold       processor.Config
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

const (
	// perRound bounds the channels of a round.
	perRound = 10
	// window is the time between the copy and the comparison; the records of this time are folded
	// again. A round ends early when more than half of maxRecords were folded.
	window = 10 * time.Second
	// maxRecords bounds the records that a round folds.
	maxRecords = 20_000
	// maxChannel bounds the copied bytes of a channel.
	maxChannel = 8 << 20
	// maxUsers bounds the compared users of a channel.
	maxUsers = 50
	// patience bounds the requests of a round to the brokers.
	patience = 30 * time.Second
)

// scratchPrefix begins the names of the directories of rounds.
const scratchPrefix = "recheck-"

// Checker checks.
type Checker struct {
	cfg     Config
	checked *prometheus.CounterVec
}

// New makes a Checker.
func New(c Config) *Checker {
	k := &Checker{cfg: c, checked: newChecked()}
	if c.Registerer != nil {
		c.Registerer.MustRegister(k.checked)
	}
	return k
}

// Run checks until ctx is done, and returns nil. It counts the error of a round and goes on with
// the next one.
func (k *Checker) Run(ctx context.Context) error {
	left, _ := filepath.Glob(filepath.Join(k.cfg.Fold.DataDir, scratchPrefix+"*")) // of a killed process
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			k.cfg.Logger.Warn("the directory of an interrupted check cannot be removed", "dir", dir, "err", err)
		}
	}
	size := min(k.cfg.PerMinute, perRound)
	pause := time.Minute * time.Duration(size) / time.Duration(k.cfg.PerMinute)
	for {
		began := time.Now()
		if err := guard.Err("a check", func() error { return k.round(ctx, size) }); err != nil && ctx.Err() == nil {
			k.cfg.Logger.Warn("channels could not be checked", guard.Attrs(err)...)
		}
		if !retry.Sleep(ctx, time.Until(began.Add(pause))) {
			return nil
		}
	}
}

// round checks some channels of a partition that is live here, if there is one.
func (k *Checker) round(ctx context.Context, size int) error {
	n, ok := k.partition()
	if !ok {
		return nil
	}
	r, err := k.begin(ctx, n, size)
	if err != nil || r == nil {
		return err
	}
	defer r.close()
	if err := r.wait(ctx); err != nil {
		return err
	}
	return r.finish(ctx)
}

// partition picks a partition that is live here.
func (k *Checker) partition() (n int32, ok bool) {
	var live []int32
	for _, s := range k.cfg.Node.Status() {
		if s.State == processor.StateLive {
			live = append(live, s.Partition)
		}
	}
	if len(live) == 0 {
		return 0, false
	}
	return live[rand.N(len(live))], true
}
