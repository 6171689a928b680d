package topics

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/traffic"
)

func newApp(t *testing.T) (*verbs.App, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	return &verbs.App{Ctx: t.Context(), Stdin: &bytes.Buffer{}, Stdout: &out, Stderr: &bytes.Buffer{}}, &out
}

// create creates missing topics and keeps existing ones; check then finds nothing. Later it finds a
// deleted topic and a wrong number of partitions.
func TestCreateAndCheck(t *testing.T) {
	a, out := newApp(t)
	brokers := verbs.BrokersFlags{Brokers: testkit.FakeKafka(t).ListenAddrs()}
	create := createCmd{BrokersFlags: brokers, Partitions: 4, ReplicationFactor: 1}
	all := events.NumInputs + 4
	if err := create.Run(a); err != nil || strings.Count(out.String(), "created  ") != all {
		t.Fatalf("%v\n%s", err, out)
	}
	out.Reset()
	if err := create.Run(a); err != nil || strings.Count(out.String(), "existed  ") != all {
		t.Fatalf("%v\n%s", err, out)
	}
	check := checkCmd{BrokersFlags: brokers, Partitions: 4, ReplicationFactor: 1, Producers: true}
	out.Reset()
	if err := check.Run(a); err != nil || out.String() != fmt.Sprintf("all %d topics are as they should be\n", all) {
		t.Errorf("%v\n%s", err, out)
	}
	out.Reset()
	check.Partitions, check.JSON = 8, true
	err := check.Run(a)
	var found struct{ Differences []kafkaadmin.Difference }
	if jsonErr := json.Unmarshal(out.Bytes(), &found); !errors.Is(err, verbs.ErrDifferences) || jsonErr != nil || len(found.Differences) != all {
		t.Errorf("%v, %v, %+v", err, jsonErr, found)
	}

	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers.Brokers...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if _, err := kadm.NewClient(cl).DeleteTopics(t.Context(), events.TopicReads); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	check.Partitions, check.JSON, check.Producers = 4, false, false
	if err := check.Run(a); !errors.Is(err, verbs.ErrDifferences) || !strings.Contains(out.String(), events.TopicReads) || strings.Contains(out.String(), events.TopicMessages) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCreateIsChecked(t *testing.T) {
	for _, c := range []createCmd{{Partitions: 0, ReplicationFactor: 1}, {Partitions: 1, ReplicationFactor: 0}} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "at least 1") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := (&createCmd{Partitions: 1, ReplicationFactor: 1}).Validate(); err != nil {
		t.Error(err)
	}
}

// The verb finds a producer that ignores the channel when it chooses partitions, counts its records
// and names an example. Records that are not events do not count.
func TestProducersWithAnotherPartitioner(t *testing.T) {
	const partitions = 4
	a, out := newApp(t)
	brokers := verbs.BrokersFlags{Brokers: testkit.FakeKafka(t).ListenAddrs()}
	if err := (&createCmd{BrokersFlags: brokers, Partitions: partitions, ReplicationFactor: 1}).Run(a); err != nil {
		t.Fatal(err)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	wrong := 0
	for i := range 100 {
		channel := fmt.Sprintf("channel-%d", i)
		r, err := traffic.Record(traffic.Message(channel, &eventsv1.MessagePosted{MessageId: "m", SenderId: "ann"}), events.Input.String)
		if err != nil {
			t.Fatal(err)
		}
		r.Partition = int32(i % partitions)
		if events.PartitionOf([]byte(channel), partitions) != r.Partition {
			wrong++
		}
		if err := cl.ProduceSync(t.Context(), r, &kgo.Record{Topic: r.Topic, Partition: r.Partition, Value: []byte("\xff")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	out.Reset()
	check := checkCmd{BrokersFlags: brokers, Producers: true}
	check.JSON = true
	err = check.Run(a)
	var found struct{ Producers []StrangersInfo }
	if jsonErr := json.Unmarshal(out.Bytes(), &found); !errors.Is(err, verbs.ErrDifferences) || jsonErr != nil || len(found.Producers) != 1 {
		t.Fatalf("%v, %v\n%s", err, jsonErr, out)
	}
	s := found.Producers[0]
	if s.Topic != events.TopicMessages || s.Looked != 100 || s.Wrong != wrong || s.Example == "" || s.LooksLike == "" || s.Do == "" {
		t.Errorf("%+v, want %d of 100", s, wrong)
	}
	if message := s.String(); !strings.HasPrefix(message, fmt.Sprintf("chat.messages: %d of the newest 100 records", wrong)) || !strings.Contains(message, s.Do) {
		t.Errorf("the sentence is %q", message)
	}
}
