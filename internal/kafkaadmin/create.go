package kafkaadmin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/tidemark/tidemark/events"
)

// Report has the results of Ensure, topic names in the order of the specs.
type Report struct {
	Created []string `json:"created"` // empty, not nil, if there is none; Existed as well
	Existed []string `json:"existed"` // not changed: Check reports how they differ
}

// Create creates missing topics and leaves existing ones as they are. It is Ensure for callers that
// need no report.
func Create(ctx context.Context, adm *kadm.Client, specs []events.TopicSpec) error {
	_, err := Ensure(ctx, adm, specs)
	return err
}

// leaderTimeout bounds the wait for leaders: a new topic has them within a second, a partition
// whose brokers are all down may never have one.
const leaderTimeout = 30 * time.Second

// Ensure creates missing topics and returns when every partition of every topic has a leader, so
// that a client may use them at once. If one has no leader for 30 s, that is an error. Ensure
// leaves existing topics as they are. It continues after a topic that cannot be created; the error
// then has one line for each of those. Repeating it is harmless.
func Ensure(ctx context.Context, adm *kadm.Client, specs []events.TopicSpec) (Report, error) {
	report := Report{Created: []string{}, Existed: []string{}}
	var errs []error
	for _, spec := range specs {
		configs := make(map[string]*string, len(spec.Configs))
		for k, v := range spec.Configs {
			configs[k] = &v
		}
		resp, err := adm.CreateTopic(ctx, spec.Partitions, spec.Replication, configs, spec.Name)
		switch {
		case err == nil:
			report.Created = append(report.Created, spec.Name)
		case errors.Is(err, kerr.TopicAlreadyExists):
			report.Existed = append(report.Existed, spec.Name)
		case errors.Is(err, kerr.InvalidReplicationFactor):
			errs = append(errs, fmt.Errorf("create topic %s: the cluster cannot hold %d replicas, it has fewer brokers: "+
				"add brokers, or set a lower --replication-factor (1 for a single broker)", spec.Name, spec.Replication))
		default:
			errs = append(errs, fmt.Errorf("create topic %s: %w", spec.Name, explain(err, resp.ErrMessage)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return report, err
	}
	return report, awaitLeaders(ctx, adm, specs)
}

// explain adds the broker's own message, which names the setting that it refused.
func explain(err error, message string) error {
	if message == "" {
		return err
	}
	return fmt.Errorf("%w (%s)", err, message)
}

// awaitLeaders returns when every partition of the topics has a leader. A broker answers a creation
// before the other brokers, and sometimes before itself, have the topic.
func awaitLeaders(ctx context.Context, adm *kadm.Client, specs []events.TopicSpec) error {
	names := make([]string, len(specs))
	for i, spec := range specs {
		names[i] = spec.Name
	}
	ctx, cancel := context.WithTimeoutCause(ctx, leaderTimeout,
		fmt.Errorf("waited for %v: are the brokers with its replicas running?", leaderTimeout))
	defer cancel()
	for {
		topics, err := freshTopics(ctx, adm, names)
		if err != nil {
			return err
		}
		missing := leaderless(topics, names)
		if missing == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s has no leader: %w", missing, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// leaderless names the first topic that is unknown or has a partition without a leader; empty when
// there is none.
func leaderless(topics kadm.TopicDetails, names []string) string {
	for _, name := range names {
		topic := topics[name]
		if topic.Err != nil || len(topic.Partitions) == 0 {
			return "topic " + name
		}
		for _, p := range topic.Partitions.Sorted() {
			if p.Err != nil || p.Leader < 0 {
				return fmt.Sprintf("partition %d of topic %s", p.Partition, name)
			}
		}
	}
	return ""
}
