package verbs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/events"
)

// Each topic gets the prefix, in the specifications too.
func TestPrefixed(t *testing.T) {
	f := verbs.TopicsFlags{TopicPrefix: "v2-"}
	topics := f.Topics()
	named := map[string]bool{topics.Unread: true, topics.Channels: true, topics.Receipts: true, topics.DeadLetters: true}
	for i, name := range topics.Inputs {
		if name != "v2-"+events.InputTopics[i] {
			t.Errorf("input %d is %q", i, name)
		}
		named[name] = true
	}
	specs := f.Specs(8, 3)
	if len(specs) != len(named) || len(named) != events.NumInputs+4 {
		t.Fatalf("%d specifications, %d names: %v", len(specs), len(named), named)
	}
	for _, s := range specs {
		if !named[s.Name] || s.Partitions != 8 {
			t.Errorf("%+v is not among %v", s, named)
		}
	}
}

// A password on the command line is refused; the same URL in the environment is accepted.
func TestRedisPasswordOnTheCommandLine(t *testing.T) {
	a, _, _ := newApp(t)
	f := verbs.RedisFlags{Redis: "redis://:secret@127.0.0.1:6379"}
	if _, err := f.RedisConfig(a); err != nil {
		t.Error(err)
	}
	a.Given = map[string]bool{"redis": true}
	var usage verbs.UsageError
	if _, err := f.RedisConfig(a); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--redis-password-file") || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error is %v", err)
	}
	f.Redis = "redis://127.0.0.1:6379"
	if _, err := f.RedisConfig(a); err != nil {
		t.Error(err)
	}
	f.Redis = "http://127.0.0.1"
	if _, err := f.RedisConfig(a); !errors.As(err, &usage) {
		t.Errorf("the error is %v", err)
	}
}

func TestSkips(t *testing.T) {
	list, err := verbs.SkipFlags{SkipRecord: []string{"chat.reads/3/17", "v2-chat.messages/0/0"}}.Skips()
	if err != nil || len(list) != 2 || list[0] != (events.RecordID{Topic: "chat.reads", Partition: 3, Offset: 17}) || list[1].Topic != "v2-chat.messages" {
		t.Errorf("%v, %v", list, err)
	}
	var usage verbs.UsageError
	if _, err := (verbs.SkipFlags{SkipRecord: []string{"chat.reads/3"}}).Skips(); !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), "--skip-record: ") {
		t.Errorf("the error is %v", err)
	}
}

// Brokers that answer are accepted, and contradictory settings are usage errors.
func TestBrokersFlags(t *testing.T) {
	a, _, _ := newApp(t)
	f, _ := brokers(t, "topic", 1)
	if err := f.Reachable(a); err != nil {
		t.Error(err)
	}
	f.KafkaSASL = "plain"
	var usage verbs.UsageError
	if _, err := f.Client(a); !errors.As(err, &usage) {
		t.Errorf("a password would go in the clear: %v", err)
	}
}
