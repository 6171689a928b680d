package engine

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/setup"
)

// newEngine returns an engine for an embedded broker whose topics have the given numbers of
// partitions; other topics have two.
func newEngine(t *testing.T, partitions map[string]int32) (*Engine, *kfake.Cluster) {
	t.Helper()
	names := append(events.InputTopics[:], events.TopicUnread, events.TopicChannels, events.TopicReceipts, events.TopicDeadLetters)
	var opts []kfake.Opt
	for _, name := range names {
		n, ok := partitions[name]
		if !ok {
			n = 2
		}
		if n > 0 {
			opts = append(opts, kfake.SeedTopics(n, name))
		}
	}
	cluster := testkit.FakeKafka(t, opts...)
	cfg, err := setup.Check(setup.Config{Brokers: cluster.ListenAddrs(), Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	e := New(cfg)
	client, err := kgo.NewClient(append(e.ClientOptions("test"), testkit.FastClientOpts()...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	e.SetClient(client)
	return e, cluster
}

// TestIdentify: Identify learns the cluster and the topics, which are the identity of each
// partition's store.
func TestIdentify(t *testing.T) {
	e, _ := newEngine(t, nil)
	if e.Partitions() != 0 {
		t.Errorf("%d partitions are known before anybody asked", e.Partitions())
	}
	if err := e.Identify(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := e.IdentityOf(1)
	if e.Partitions() != 2 || id.Partition != 1 || id.Partitions != 2 || id.ClusterID == "" || id.Settings != e.Config.Settings {
		t.Errorf("%d partitions, identity %+v", e.Partitions(), id)
	}
	for i, topic := range id.Topics {
		if topic.Name != events.InputTopics[i] || topic.ID == ([16]byte{}) {
			t.Errorf("topic %d is %+v", i, topic)
		}
	}
}

// TestPartitionCounts: inputs and outputs need the same number of partitions; dead letters do not,
// and a rebuild needs no outputs at all.
func TestPartitionCounts(t *testing.T) {
	for _, c := range []struct {
		name       string
		partitions map[string]int32
		inputsOnly bool
		want       string // in the error; empty: none
	}{
		{name: "equal"},
		{name: "an input", partitions: map[string]int32{events.InputTopics[2]: 3}, want: events.InputTopics[2]},
		{name: "an output", partitions: map[string]int32{events.TopicReceipts: 1}, want: events.TopicReceipts},
		{name: "dead letters", partitions: map[string]int32{events.TopicDeadLetters: 1}},
		{name: "an output that a rebuild does not need", partitions: map[string]int32{events.TopicUnread: 5}, inputsOnly: true},
		{name: "an input of a rebuild", partitions: map[string]int32{events.InputTopics[1]: 5}, inputsOnly: true, want: events.InputTopics[1]},
	} {
		e, _ := newEngine(t, c.partitions)
		e.InputsOnly = c.inputsOnly
		_, err := e.LookUp(t.Context())
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (!isWrong(err) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "tidemark topics check")):
			t.Errorf("%s: %v", c.name, err)
		}
	}
	e, _ := newEngine(t, map[string]int32{events.TopicUnread: 0})
	if _, err := e.LookUp(t.Context()); !errors.Is(err, kafkaadmin.ErrNoTopic) || !isWrong(err) {
		t.Errorf("a topic that is not there: %v", err)
	}
}

// TestIdentifyEndsWithItsContext: Identify waits because of wrong topics, or of brokers that do not
// answer. It ends with its context, which is not a failure, and reports the reason for its wait
// meanwhile.
func TestIdentifyEndsWithItsContext(t *testing.T) {
	e, _ := newEngine(t, map[string]int32{events.InputTopics[0]: 1})
	e.Config.Now = func() time.Time { return time.Time{} } // patience never ends
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Identify(ctx) }()
	testkit.Await(t, "the reason is known", func() bool { return e.GroupErr.Load() != nil })
	cancel()
	if err := <-done; err != nil || e.Cluster.Load() != nil {
		t.Errorf("%v, cluster %+v", err, e.Cluster.Load())
	}
	e.SetGroupErr(nil)
	if e.GroupErr.Load() != nil {
		t.Error("the reason stays")
	}
}

// TestIdentifyGivesUp: unsuitable topics become an error after the time in which somebody could
// create them.
func TestIdentifyGivesUp(t *testing.T) {
	e, _ := newEngine(t, map[string]int32{events.InputTopics[0]: 1})
	var now time.Time
	e.Config.Now = func() time.Time { now = now.Add(kafkaadmin.TopicsPatience); return now }
	if err := e.Identify(t.Context()); !isWrong(err) {
		t.Errorf("got %v", err)
	}
}

// TestTopicsChanged: the error names the change and its consequence.
func TestTopicsChanged(t *testing.T) {
	was := &Cluster{ID: "one", Partitions: 4}
	was.Topics[1].Name = events.InputTopics[1]
	for _, c := range []struct {
		change func(is *Cluster)
		want   string
	}{
		{func(*Cluster) {}, ""},
		{func(is *Cluster) { is.Partitions = 8 }, "4 partitions when this process started and have 8 now"},
		{func(is *Cluster) { is.Topics[1].ID[3] = 1 }, events.InputTopics[1] + " was deleted and created again"},
		{func(is *Cluster) { is.ID = "two" }, "cluster two, not to one"},
	} {
		is := *was
		c.change(&is)
		if err := topicsChanged(was, &is); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// TestClientLog: the log has the client's warnings and errors at their level, with their source.
func TestClientLog(t *testing.T) {
	var text strings.Builder
	l := ClientLog{slog.New(slog.NewTextHandler(&text, nil))}
	if l.Level() != kgo.LogLevelWarn {
		t.Errorf("it asks for level %v", l.Level())
	}
	l.Log(kgo.LogLevelWarn, "slow", "broker", 7)
	l.Log(kgo.LogLevelError, "gone")
	if got := text.String(); !strings.Contains(got, `level=WARN msg="kafka client: slow" broker=7`) || !strings.Contains(got, `level=ERROR msg="kafka client: gone"`) {
		t.Errorf("logged: %s", got)
	}
}

// TestFlow: pausing and resuming affects one input of one partition.
func TestFlow(t *testing.T) {
	e, _ := newEngine(t, nil)
	client, err := kgo.NewClient(e.TailOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	flow := e.Flow(1, client)
	paused := func() map[string][]int32 { return client.PauseFetchPartitions(nil) }
	flow(events.Reads, true)
	if got := paused(); len(got) != 1 || len(got[events.InputTopics[events.Reads]]) != 1 || got[events.InputTopics[events.Reads]][0] != 1 {
		t.Errorf("paused: %v", got)
	}
	flow(events.Messages, false)
	flow(events.Reads, false)
	if got := paused(); len(got) != 0 {
		t.Errorf("still paused: %v", got)
	}
}

// TestSurvey: the bounds of a partition are its first offset and the end of the committed records.
// A partition that the brokers leave out has none.
func TestSurvey(t *testing.T) {
	e, _ := newEngine(t, nil)
	if err := e.Identify(t.Context()); err != nil {
		t.Fatal(err)
	}
	client := testkit.Client(t, e.Config.Brokers, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for range 3 {
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: events.InputTopics[1], Partition: 1, Value: []byte("x")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	e.SetGroupErr(errors.New("of before"))
	s, err := e.Survey(t.Context(), []int32{0, 1})
	if err != nil || s.Wrong != nil || e.GroupErr.Load() != nil {
		t.Fatalf("%v, wrong: %v, group: %v", err, s.Wrong, e.GroupErr.Load())
	}
	for _, c := range []struct {
		input      int
		number     int32
		start, end int64
	}{{0, 1, 0, 0}, {1, 0, 0, 0}, {1, 1, 0, 3}} {
		if start, end, err := s.Bounds(c.input, c.number); err != nil || start != c.start || end != c.end {
			t.Errorf("input %d of partition %d: %d to %d, %v", c.input, c.number, start, end, err)
		}
	}
	if _, _, err := s.Bounds(0, 7); err == nil || s.complete([]int32{0, 7}) || !s.complete([]int32{0, 1}) {
		t.Errorf("of a partition that is not there: %v", err)
	}
}

// TestSurveyOfOtherTopics: the survey reports that the topics are not those of the start, instead
// of bounds of other records.
func TestSurveyOfOtherTopics(t *testing.T) {
	e, _ := newEngine(t, nil)
	if err := e.Identify(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := *e.Cluster.Load()
	other.Topics[0].ID[0]++
	e.Cluster.Store(&other)
	s, err := e.SurveyOnce(t.Context())
	if err != nil || s.Wrong == nil || !strings.Contains(s.Wrong.Error(), "created again") {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestSurveyAsksAgain: the survey repeats its requests while the brokers return errors, and reports
// the reason for its wait.
func TestSurveyAsksAgain(t *testing.T) {
	e, cluster := newEngine(t, nil)
	if err := e.Identify(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused := make(chan struct{})
	cluster.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
		select {
		case <-refused:
			return nil, nil, false
		default:
			cluster.KeepControl()
			return nil, errors.New("refused"), true
		}
	})
	done := make(chan error, 1)
	go func() {
		_, err := e.Survey(t.Context(), []int32{0, 1})
		done <- err
	}()
	testkit.Await(t, "the reason is known", func() bool { return e.GroupErr.Load() != nil })
	if err := *e.GroupErr.Load(); !strings.Contains(err.Error(), "start and end of the topics") {
		t.Errorf("it waits for %v", err)
	}
	close(refused)
	if err := <-done; err != nil || e.GroupErr.Load() != nil {
		t.Errorf("afterwards: %v", err)
	}
}
