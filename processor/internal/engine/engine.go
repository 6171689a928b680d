package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/inflate"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/processor/internal/arrivals"
	"github.com/tidemark/tidemark/processor/internal/metrics"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// Engine holds what workers need, in a processor and in a rebuild.
type Engine struct {
	Config  setup.Checked
	Log     *slog.Logger
	Metrics *metrics.Set
	Admin   *kadm.Client
	// InputsOnly is true in a rebuild: the output topics may be missing, nothing is published, and
	// a partition that failed is not opened again.
	InputsOnly bool

	Cluster  atomic.Pointer[Cluster]
	GroupErr atomic.Pointer[error] // why the member is not in its group, or has not found the topics yet
	Queued   atomic.Int64          // bytes of fetched records in all inboxes
	Arrivals arrivals.Registry     // watches of users in all partitions
}

// New creates the engine for a configuration. SetClient sets its client.
func New(cfg setup.Checked) *Engine {
	return &Engine{Config: cfg, Log: cfg.Logger, Metrics: metrics.New(cfg.Topics)}
}

// SetClient sets the client for requests to the brokers.
func (r *Engine) SetClient(client *kgo.Client) {
	r.Config.BatchBytes = inflate.Limit(client)
	r.Admin = kadm.NewClient(client)
}

// Cluster has the identities of the cluster and of the inputs.
type Cluster struct {
	ID         string
	Topics     [events.NumInputs]projections.TopicIdentity
	Partitions int32
}

// Identify reads the identities of the cluster and the topics. It waits while the brokers cannot be
// reached.
func (r *Engine) Identify(ctx context.Context) error {
	began := r.Config.Now()
	for try := 0; ; try++ {
		id, err := r.LookUp(ctx)
		if err == nil {
			r.Cluster.Store(id)
			return nil
		}
		if isWrong(err) && r.Config.Now().Sub(began) >= kafkaadmin.TopicsPatience {
			return err
		}
		r.SetGroupErr(err)
		if ctx.Err() == nil {
			r.Log.Warn("the brokers do not answer about the topics yet", "err", err)
		}
		select {
		case <-time.After(min(time.Duration(try+1)*200*time.Millisecond, 5*time.Second)):
		case <-ctx.Done():
			return nil // stopped before it had the answer
		}
	}
}

// topicsError reports that the topics do not fit a processor.
type topicsError struct{ text string }

func (e *topicsError) Error() string { return e.text }

// isWrong reports whether err is about the topics themselves, not about the request.
func isWrong(err error) bool {
	var wrong *topicsError
	return errors.As(err, &wrong) || errors.Is(err, kafkaadmin.ErrNoTopic)
}

// LookUp asks the brokers for the identities of the topics and checks their partition counts. The
// outputs must have the inputs' counts: the fold chooses the partition of a delta.
func (r *Engine) LookUp(ctx context.Context) (*Cluster, error) {
	t := &r.Config.Topics
	names := slices.Clone(t.Inputs[:])
	counted := len(names) // the topics that need equal partition counts
	if !r.InputsOnly {
		names = append(names, t.Unread, t.Channels, t.Receipts, t.DeadLetters)
		counted = len(names) - 1
	}
	cluster, ids, counts, err := kafkaadmin.Identities(ctx, r.Admin, names)
	if err != nil {
		return nil, err
	}
	id := &Cluster{ID: cluster, Partitions: counts[t.Inputs[0]]}
	for _, name := range names[:counted] {
		if counts[name] != id.Partitions {
			return nil, &topicsError{fmt.Sprintf("topic %s has %d partitions and topic %s has %d: inputs and outputs must "+
				"have the same number; `tidemark topics check` says what is expected", t.Inputs[0], id.Partitions, name, counts[name])}
		}
	}
	for i, name := range t.Inputs {
		id.Topics[i] = projections.TopicIdentity{Name: name, ID: ids[name]}
	}
	return id, nil
}

// IdentityOf returns the identity of a partition's store.
func (r *Engine) IdentityOf(number int32) projections.Identity {
	id := r.Cluster.Load()
	return projections.Identity{
		ClusterID: id.ID, Topics: id.Topics, Partition: number, Partitions: id.Partitions, Settings: r.Config.Settings,
	}
}

// SetGroupErr sets why the member is not in its group, or has not found the topics yet. nil clears
// it.
func (r *Engine) SetGroupErr(err error) {
	if err == nil {
		r.GroupErr.Store(nil)
		return
	}
	r.GroupErr.Store(&err)
}

// Partitions returns the partition count of the input topics, 0 while it is unknown.
func (r *Engine) Partitions() int32 {
	if id := r.Cluster.Load(); id != nil {
		return id.Partitions
	}
	return 0
}
