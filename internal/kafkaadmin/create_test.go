package kafkaadmin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

func topic(name string, leaders ...int32) kadm.TopicDetail {
	d := kadm.TopicDetail{Topic: name, Partitions: kadm.PartitionDetails{}}
	for p, leader := range leaders {
		d.Partitions[int32(p)] = kadm.PartitionDetail{Topic: name, Partition: int32(p), Leader: leader}
	}
	return d
}

func TestLeaderless(t *testing.T) {
	unknown := topic("t")
	unknown.Err = kerr.UnknownTopicOrPartition
	failing := topic("t", 1, 1)
	p := failing.Partitions[1]
	p.Err = kerr.LeaderNotAvailable
	failing.Partitions[1] = p
	for _, c := range []struct {
		what string
		got  kadm.TopicDetails
		want string
	}{
		{"all lead", kadm.TopicDetails{"t": topic("t", 1, 2, 0)}, ""},
		{"unknown", kadm.TopicDetails{"t": unknown}, "topic t"},
		{"not in the answer", kadm.TopicDetails{}, "topic t"},
		{"no partitions yet", kadm.TopicDetails{"t": topic("t")}, "topic t"},
		{"no leader", kadm.TopicDetails{"t": topic("t", 1, -1)}, "partition 1 of topic t"},
		{"partition in error", kadm.TopicDetails{"t": failing}, "partition 1 of topic t"},
	} {
		if got := leaderless(c.got, []string{"t"}); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

func TestNoTopicIsNotAllTopics(t *testing.T) {
	if _, err := freshMetadata(context.Background(), nil, nil); err == nil {
		t.Error("metadata of no topic is answered")
	}
	if diffs, err := Check(context.Background(), nil, nil); diffs != nil || err != nil {
		t.Errorf("Check of nothing: %v, %v", diffs, err)
	}
}

func TestExplainKeepsTheCause(t *testing.T) {
	err := explain(kerr.InvalidConfig, "retention.ms is odd")
	if !errors.Is(err, kerr.InvalidConfig) || !strings.Contains(err.Error(), "(retention.ms is odd)") {
		t.Errorf("explain: %v", err)
	}
	if got := explain(kerr.InvalidConfig, "").Error(); got != kerr.InvalidConfig.Error() {
		t.Errorf("explain without a message: %s", got)
	}
}
