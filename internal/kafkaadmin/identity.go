package kafkaadmin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// ErrNoTopic is wrapped by the error about a topic that does not exist.
var ErrNoTopic = errors.New("no such topic")

// Identities returns the identities that a store is bound to: the cluster's id and, by topic name,
// the topic's id and number of partitions. A topic that was deleted and created again has the same
// name and another id. Every topic must exist (else ErrNoTopic) and every partition must be
// readable in the answer.
// The answer comes from a broker, because a client's cached metadata, which other admin calls use,
// may be older than a recreation of the topic. Identities must notice a recreation.
func Identities(ctx context.Context, adm *kadm.Client, topics []string) (clusterID string, ids map[string][16]byte, partitions map[string]int32, err error) {
	md, err := freshMetadata(ctx, adm, topics)
	if err != nil {
		return "", nil, nil, err
	}
	if md.Cluster == "" {
		return "", nil, nil, errors.New("the brokers state no cluster id: Tidemark needs Kafka 3.0 or newer")
	}
	ids = make(map[string][16]byte, len(topics))
	partitions = make(map[string]int32, len(topics))
	for _, name := range topics {
		topic := md.Topics[name]
		if errors.Is(topic.Err, kerr.UnknownTopicOrPartition) {
			return "", nil, nil, fmt.Errorf("topic %s: %w: create it with `tidemark topics create`", name, ErrNoTopic)
		}
		if topic.Err != nil {
			return "", nil, nil, fmt.Errorf("identity of topic %s: %w", name, Refused(name, "Describe", topic.Err))
		}
		if topic.ID == (kadm.TopicID{}) {
			return "", nil, nil, fmt.Errorf("the brokers state no id of topic %s: Tidemark needs Kafka 3.0 or newer", name)
		}
		ids[name] = topic.ID
		partitions[name] = int32(len(topic.Partitions))
	}
	return md.Cluster, ids, partitions, nil
}

// TopicsPatience is how long missing topics are checked again, because a broker's metadata may be
// behind that of the others.
const TopicsPatience = 3 * time.Second

// SettledIdentities is Identities for topics that may have been created a moment ago: it repeats
// the request for a missing topic, for TopicsPatience and at any broker.
func SettledIdentities(ctx context.Context, adm *kadm.Client, topics []string) (clusterID string, ids map[string][16]byte, partitions map[string]int32, err error) {
	for deadline := time.Now().Add(TopicsPatience); ; {
		clusterID, ids, partitions, err = Identities(ctx, adm, topics)
		if !errors.Is(err, ErrNoTopic) || time.Now().After(deadline) {
			return clusterID, ids, partitions, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return clusterID, ids, partitions, err
		}
	}
}

// freshMetadata requests topics from a broker. Without the request for authorised operations, kadm
// answers from the client's cache, which is up to MetadataMinAge (5 s by default) old.
func freshMetadata(ctx context.Context, adm *kadm.Client, topics []string) (kadm.Metadata, error) {
	if len(topics) == 0 {
		return kadm.Metadata{}, errors.New("metadata of no topic was asked for") // kadm would answer with all topics
	}
	md, err := adm.Metadata(kadm.WithAuthorizedOps(ctx), topics...)
	if err != nil {
		return kadm.Metadata{}, fmt.Errorf("reading the metadata of topics %v: %w", topics, err)
	}
	return md, nil
}

func freshTopics(ctx context.Context, adm *kadm.Client, topics []string) (kadm.TopicDetails, error) {
	md, err := freshMetadata(ctx, adm, topics)
	return md.Topics, err
}

// Refused adds the missing right, and the command that grants it, to a broker's refusal about a
// topic. right is the operation of an ACL, such as "Write". Other errors are returned unchanged.
func Refused(topic, right string, err error) error {
	if !errors.Is(err, kerr.TopicAuthorizationFailed) {
		return err
	}
	return fmt.Errorf("%w; the user of this node lacks the right %s on topic %s: docs/security.md lists the rights of each role, and "+
		"`kafka-acls.sh --add --operation %s --topic %s` gives it", err, right, topic, right, topic)
}
