package events_test

import (
	"reflect"
	"strconv"
	"testing"

	"github.com/tidemark/tidemark/events"
)

func TestTopicSpecs(t *testing.T) {
	const week, month = "604800000", "2592000000"
	want := map[string]map[string]string{
		"chat.messages":         {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"},
		"chat.reads":            {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"},
		"chat.deliveries":       {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"},
		"tidemark.unread":       {"cleanup.policy": "compact"},
		"tidemark.channels":     {"cleanup.policy": "compact"},
		"tidemark.receipts":     {"cleanup.policy": "delete", "retention.ms": week},
		"tidemark.dead-letters": {"cleanup.policy": "delete", "retention.ms": month},
	}
	specs := events.TopicSpecs(12, 3)
	if len(specs) != len(want) {
		t.Errorf("%d topics, want %d", len(specs), len(want))
	}
	for _, s := range specs {
		if s.Partitions != 12 || s.Replication != 3 {
			t.Errorf("%s: %d partitions, replication %d", s.Name, s.Partitions, s.Replication)
		}
		if s.Configs["min.insync.replicas"] != "2" {
			t.Errorf("%s: acks=all means %s replicas", s.Name, s.Configs["min.insync.replicas"])
		}
		for key, value := range want[s.Name] {
			if s.Configs[key] != value {
				t.Errorf("%s: %s is %q, want %q", s.Name, key, s.Configs[key], value)
			}
		}
		delete(want, s.Name)
	}
	for name := range want {
		t.Errorf("%s is missing", name)
	}
	for _, s := range events.TopicSpecs(1, 1) {
		if s.Configs["min.insync.replicas"] != "1" {
			t.Errorf("%s: one replica cannot have %s in sync", s.Name, s.Configs["min.insync.replicas"])
		}
	}
}

// A dead letter has room for any record of an input topic, with its headers.
func TestDeadLettersHoldInputs(t *testing.T) {
	limit := map[string]int{}
	for _, s := range events.TopicSpecs(1, 1) {
		if v, ok := s.Configs["max.message.bytes"]; ok {
			n, err := strconv.Atoi(v)
			if err != nil {
				t.Fatal(err)
			}
			limit[s.Name] = n
		}
	}
	for _, in := range events.InputTopics {
		if limit[in] <= events.MaxValueBytes || limit[events.TopicDeadLetters] <= limit[in] {
			t.Errorf("%s: value %d, input batch %d, dead letter batch %d", in, events.MaxValueBytes, limit[in],
				limit[events.TopicDeadLetters])
		}
	}
}

func TestInputString(t *testing.T) {
	for in, want := range map[events.Input]string{events.Messages: "chat.messages", events.Reads: "chat.reads",
		events.Deliveries: "chat.deliveries", 7: "Input(7)"} {
		if got := in.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPrefixedTopicSpecs(t *testing.T) {
	bare := events.TopicSpecs(12, 3)
	for i, s := range events.PrefixedTopicSpecs("v2.", 12, 3) {
		if s.Name != "v2."+bare[i].Name || events.Unprefixed(s.Name, bare[i].Name) != bare[i].Name {
			t.Errorf("%s has the name %s", bare[i].Name, s.Name)
		}
		if s.Name = bare[i].Name; !reflect.DeepEqual(s, bare[i]) {
			t.Errorf("with a prefix %+v, without %+v", s, bare[i])
		}
	}
}

func TestUnprefixed(t *testing.T) {
	for name, want := range map[string]string{"chat.reads": "chat.reads", "v2.chat.reads": "chat.reads", "chat.reads.old": "",
		"tidemark.unread": "", "": ""} {
		if got := events.Unprefixed(name, events.InputTopics[:]...); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
