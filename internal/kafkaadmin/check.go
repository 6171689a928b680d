package kafkaadmin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/tidemark/tidemark/events"
)

// Aspect is the property of a topic that differs.
type Aspect string

// The aspects that Check compares.
const (
	Missing     Aspect = "missing"     // the topic does not exist
	Partitions  Aspect = "partitions"  // its number of partitions
	Replication Aspect = "replication" // the number of replicas of one of its partitions
	Config      Aspect = "config"      // a configuration value
	Mixed       Aspect = "mixed"       // the input topics have different numbers of partitions
)

// Difference is one difference between a cluster and the specs.
type Difference struct {
	Topic  string `json:"topic"` // for Mixed the input topics, separated by commas
	Aspect Aspect `json:"aspect"`
	Key    string `json:"key,omitempty"`  // of a Config
	Want   string `json:"want,omitempty"` // empty if any value will do
	Got    string `json:"got,omitempty"`  // empty if there is none
}

// String returns the difference as a sentence with the way out.
func (d Difference) String() string {
	switch d.Aspect {
	case Missing:
		return fmt.Sprintf("%s: missing: create it with `tidemark topics create`", d.Topic)
	case Partitions:
		return fmt.Sprintf("%s: %s partitions, want %s: do not add partitions to a topic in use, its keys would move; "+
			"reshard into new topics, or check for the number that is there", d.Topic, d.Got, d.Want)
	case Replication:
		return fmt.Sprintf("%s: %s replicas of a partition, want %s: assign its replicas with kafka-reassign-partitions", d.Topic, d.Got, d.Want)
	case Config:
		got := d.Got
		if got == "" {
			got = "unknown to the broker"
		}
		return fmt.Sprintf("%s: %s is %s, want %s: set it with kafka-configs --alter", d.Topic, d.Key, got, d.Want)
	case Mixed:
		return fmt.Sprintf("%s: have %s partitions, and must have the same number: a channel's messages, reads and "+
			"deliveries meet in one partition", d.Topic, d.Got)
	}
	return fmt.Sprintf("%s: %s: %s, want %s", d.Topic, d.Aspect, d.Got, d.Want)
}

// Check compares the topics of the cluster with specs and returns the differences in the order of
// the specs, none if all is well. A spec's Partitions or Replication of 0 or less means any number;
// configuration values that a spec does not name may be anything. Where all three input topics
// exist they must have the same number of partitions, whatever it is; names that end in an input
// topic's are inputs.
func Check(ctx context.Context, adm *kadm.Client, specs []events.TopicSpec) ([]Difference, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	names := make([]string, len(specs))
	for i, spec := range specs {
		names[i] = spec.Name
	}
	topics, err := freshTopics(ctx, adm, names)
	if err != nil {
		return nil, err
	}
	configs, err := configsOf(ctx, adm, topics)
	if err != nil {
		return nil, err
	}
	var diffs []Difference
	for _, spec := range specs {
		topic := topics[spec.Name]
		if errors.Is(topic.Err, kerr.UnknownTopicOrPartition) {
			diffs = append(diffs, Difference{Topic: spec.Name, Aspect: Missing})
			continue
		}
		if topic.Err != nil {
			return nil, fmt.Errorf("check topic %s: %w", spec.Name, topic.Err)
		}
		diffs = append(diffs, compare(spec, topic, configs[spec.Name])...)
	}
	return append(diffs, mixedInputs(specs, topics)...), nil
}

// configsOf returns the configuration values of existing topics, by topic and key.
func configsOf(ctx context.Context, adm *kadm.Client, topics kadm.TopicDetails) (map[string]map[string]string, error) {
	var names []string
	for name, topic := range topics {
		if topic.Err == nil {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	described, err := adm.DescribeTopicConfigs(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of topics %v: %w", names, err)
	}
	configs := make(map[string]map[string]string, len(described))
	for _, resource := range described {
		if resource.Err != nil {
			return nil, fmt.Errorf("configuration of topic %s: %w", resource.Name, explain(resource.Err, resource.ErrMessage))
		}
		values := make(map[string]string, len(resource.Configs))
		for _, c := range resource.Configs {
			values[c.Key] = c.MaybeValue()
		}
		configs[resource.Name] = values
	}
	return configs, nil
}

// compare lists the differences of one existing topic.
func compare(spec events.TopicSpec, topic kadm.TopicDetail, configs map[string]string) []Difference {
	var diffs []Difference
	if got := len(topic.Partitions); spec.Partitions > 0 && got != int(spec.Partitions) {
		diffs = append(diffs, Difference{Topic: spec.Name, Aspect: Partitions,
			Want: strconv.Itoa(int(spec.Partitions)), Got: strconv.Itoa(got)})
	}
	for _, p := range topic.Partitions.Sorted() {
		if spec.Replication > 0 && len(p.Replicas) != int(spec.Replication) {
			diffs = append(diffs, Difference{Topic: spec.Name, Aspect: Replication,
				Want: strconv.Itoa(int(spec.Replication)), Got: strconv.Itoa(len(p.Replicas))})
			break // once for the topic says it
		}
	}
	for _, key := range slices.Sorted(maps.Keys(spec.Configs)) {
		if want, got := spec.Configs[key], configs[key]; want != got {
			diffs = append(diffs, Difference{Topic: spec.Name, Aspect: Config, Key: key, Want: want, Got: got})
		}
	}
	return diffs
}

// mixedInputs returns the difference among the input topics, if all three exist and differ.
func mixedInputs(specs []events.TopicSpec, topics kadm.TopicDetails) []Difference {
	var names, counts []string
	for _, spec := range specs {
		topic := topics[spec.Name]
		if isInput(spec.Name) && topic.Err == nil {
			names = append(names, spec.Name)
			counts = append(counts, strconv.Itoa(len(topic.Partitions)))
		}
	}
	if len(names) < len(events.InputTopics) || len(slices.Compact(slices.Clone(counts))) == 1 {
		return nil
	}
	return []Difference{{Topic: strings.Join(names, ", "), Aspect: Mixed, Got: strings.Join(counts, ", ")}}
}

// isInput reports whether a topic is one of the inputs, with or without a prefix.
func isInput(name string) bool {
	return events.Unprefixed(name, events.InputTopics[:]...) != ""
}

// Configs returns the configuration values of the existing topics, by topic and key, as the brokers
// state them.
func Configs(ctx context.Context, adm *kadm.Client, names ...string) (map[string]map[string]string, error) {
	topics, err := freshTopics(ctx, adm, names)
	if err != nil {
		return nil, err
	}
	return configsOf(ctx, adm, topics)
}
