package kafkaadmin_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// prefixed returns Tidemark's topics under unique names. They are deleted after the test.
func prefixed(t *testing.T, adm *kadm.Client, partitions int32, replication int16) []events.TopicSpec {
	t.Helper()
	specs := events.PrefixedTopicSpecs(testkit.UniqueName(t, "admin")+".", partitions, replication)
	t.Cleanup(func() { _, _ = adm.DeleteTopics(context.Background(), names(specs)...) })
	return specs
}

func names(specs []events.TopicSpec) []string {
	all := make([]string, len(specs))
	for i, spec := range specs {
		all[i] = spec.Name
	}
	return all
}

func check(ctx context.Context, t *testing.T, adm *kadm.Client, specs []events.TopicSpec) []kafkaadmin.Difference {
	t.Helper()
	diffs, err := kafkaadmin.Check(ctx, adm, specs)
	if err != nil {
		t.Fatal(err)
	}
	return diffs
}

func TestEnsureMakesWhatIsMissingAndSaysWhatWasThere(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		ctx, adm := testContext(t), testkit.Admin(t, env.Brokers)
		specs := prefixed(t, adm, 3, 1)

		missing := check(ctx, t, adm, specs)
		if len(missing) != len(specs) {
			t.Fatalf("differences before: %v", missing)
		}
		for i, d := range missing {
			if want := (kafkaadmin.Difference{Topic: specs[i].Name, Aspect: kafkaadmin.Missing}); d != want {
				t.Errorf("difference %d: %+v, want %+v", i, d, want)
			}
		}

		first, err := kafkaadmin.Ensure(ctx, adm, specs[:2])
		if err != nil || !slices.Equal(first.Created, names(specs[:2])) || first.Existed == nil || len(first.Existed) != 0 {
			t.Fatalf("first: %+v, %v", first, err)
		}
		second, err := kafkaadmin.Ensure(ctx, adm, specs)
		if err != nil || !slices.Equal(second.Created, names(specs[2:])) || !slices.Equal(second.Existed, names(specs[:2])) {
			t.Fatalf("second: %+v, %v", second, err)
		}
		if err := kafkaadmin.Create(ctx, adm, specs); err != nil {
			t.Fatalf("again: %v", err)
		}
		if diffs := check(ctx, t, adm, specs); len(diffs) > 0 {
			t.Errorf("what was just created differs: %v", diffs)
		}
	})
}

func TestCheckComparesPartitionsReplicasAndConfigs(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		ctx, adm := testContext(t), testkit.Admin(t, env.Brokers)
		spec := prefixed(t, adm, 2, 1)[0]
		spec.Configs = map[string]string{"retention.ms": "60000", "cleanup.policy": "delete"}
		if err := kafkaadmin.Create(ctx, adm, []events.TopicSpec{spec}); err != nil {
			t.Fatal(err)
		}
		want := spec
		want.Partitions, want.Replication = 4, 3
		want.Configs = map[string]string{"retention.ms": "-1", "cleanup.policy": "delete", "no.such.setting": "1"}
		got := check(ctx, t, adm, []events.TopicSpec{want})
		expected := []kafkaadmin.Difference{
			{Topic: spec.Name, Aspect: kafkaadmin.Partitions, Want: "4", Got: "2"},
			{Topic: spec.Name, Aspect: kafkaadmin.Replication, Want: "3", Got: "1"},
			{Topic: spec.Name, Aspect: kafkaadmin.Config, Key: "no.such.setting", Want: "1"},
			{Topic: spec.Name, Aspect: kafkaadmin.Config, Key: "retention.ms", Want: "-1", Got: "60000"},
		}
		if !slices.Equal(got, expected) {
			t.Errorf("got  %+v\nwant %+v", got, expected)
		}
		want = spec
		want.Partitions, want.Replication = 0, 0
		if got := check(ctx, t, adm, []events.TopicSpec{want}); len(got) > 0 {
			t.Errorf("any number of partitions and replicas is wanted, and yet: %v", got)
		}
	})
}

func TestInputsWithDifferentPartitionCountsAreMixed(t *testing.T) {
	ctx, adm := testContext(t), testkit.Admin(t, testkit.FakeKafka(t).ListenAddrs())
	specs := prefixed(t, adm, 2, 1)
	specs[events.Reads].Partitions = 3
	if err := kafkaadmin.Create(ctx, adm, specs); err != nil {
		t.Fatal(err)
	}
	// Each topic is right by itself, and together they are wrong.
	var mixed []kafkaadmin.Difference
	for _, d := range check(ctx, t, adm, specs) {
		if d.Aspect == kafkaadmin.Mixed {
			mixed = append(mixed, d)
		}
	}
	want := kafkaadmin.Difference{Topic: strings.Join(names(specs[:3]), ", "), Aspect: kafkaadmin.Mixed, Got: "2, 3, 2"}
	if len(mixed) != 1 || mixed[0] != want {
		t.Errorf("got %+v, want %+v", mixed, want)
	}
}

func TestCreationThatIsRefusedSaysWhy(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		ctx, adm := testContext(t), testkit.Admin(t, env.Brokers)
		specs := prefixed(t, adm, 1, 3)[:2]
		specs[1].Replication = 1
		report, err := kafkaadmin.Ensure(ctx, adm, specs)
		if err == nil || !strings.Contains(err.Error(), specs[0].Name) || !strings.Contains(err.Error(), "--replication-factor") {
			t.Errorf("3 replicas on one broker: %v", err)
		}
		if !slices.Equal(report.Created, names(specs[1:])) {
			t.Errorf("created %v; want the second topic all the same", report.Created)
		}
	})
}

func TestAWrongSettingIsRefusedByTheRealBroker(t *testing.T) {
	ctx, adm := testContext(t), testkit.Admin(t, testkit.Kafka(t).Brokers)
	spec := prefixed(t, adm, 1, 1)[0]
	spec.Configs = map[string]string{"retention.ms": "for ever"}
	if err := kafkaadmin.Create(ctx, adm, []events.TopicSpec{spec}); err == nil || !strings.Contains(err.Error(), "retention.ms") {
		t.Errorf("retention.ms = for ever: %v", err)
	}
}

// A node that starts while the topics are created may query a broker that does not know them yet.
func TestSettledIdentitiesAskAgain(t *testing.T) {
	ctx, fake := testContext(t), testkit.FakeKafka(t)
	adm := testkit.Admin(t, fake.ListenAddrs())
	specs := prefixed(t, adm, 2, 1)[:2]
	if err := kafkaadmin.Create(ctx, adm, specs); err != nil {
		t.Fatal(err)
	}
	var behind atomic.Int32
	fake.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		req := r.(*kmsg.MetadataRequest)
		if len(req.Topics) == 0 || behind.Add(-1) < 0 {
			return nil, nil, false
		}
		res := req.ResponseKind().(*kmsg.MetadataResponse)
		res.ClusterID = kmsg.StringPtr("c")
		for _, asked := range req.Topics {
			topic := kmsg.NewMetadataResponseTopic()
			topic.Topic, topic.ErrorCode = asked.Topic, kerr.UnknownTopicOrPartition.Code
			res.Topics = append(res.Topics, topic)
		}
		return res, nil, true
	})
	behind.Store(1)
	if _, _, _, err := kafkaadmin.Identities(ctx, adm, names(specs)); !errors.Is(err, kafkaadmin.ErrNoTopic) {
		t.Errorf("a broker that is behind: %v", err)
	}
	behind.Store(3)
	_, ids, partitions, err := kafkaadmin.SettledIdentities(ctx, adm, names(specs))
	if err != nil || len(ids) != 2 || partitions[specs[0].Name] != 2 || behind.Load() >= 0 {
		t.Errorf("a broker that catches up: %v of %v partitions, %v", ids, partitions, err)
	}
	behind.Store(1 << 20)
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, _, _, err := kafkaadmin.SettledIdentities(short, adm, names(specs)); err == nil {
		t.Error("topics that nobody has heard of are found")
	}
}

// A topic that was deleted and created again has another id, even if the client read its metadata a
// moment before: cached metadata would still have the old one.
func TestIdentitiesNoticeARecreatedTopic(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		ctx := testContext(t)
		adm, err := kadm.NewOptClient(kgo.SeedBrokers(env.Brokers...)) // with the cache of a production client
		if err != nil {
			t.Fatal(err)
		}
		defer adm.Close()
		specs := prefixed(t, adm, 2, 1)[:2]
		if err := kafkaadmin.Create(ctx, adm, specs); err != nil {
			t.Fatal(err)
		}
		cluster, before, partitions, err := kafkaadmin.Identities(ctx, adm, names(specs))
		if err != nil {
			t.Fatal(err)
		}
		if cluster == "" || len(before) != 2 || before[specs[0].Name] == before[specs[1].Name] {
			t.Errorf("cluster %q, ids %v", cluster, before)
		}
		if want := map[string]int32{specs[0].Name: 2, specs[1].Name: 2}; !maps.Equal(partitions, want) {
			t.Errorf("partitions %v, want %v", partitions, want)
		}
		if _, err := adm.ListTopics(ctx, specs[0].Name); err != nil { // fills the client's cache
			t.Fatal(err)
		}
		if _, err := adm.DeleteTopic(ctx, specs[0].Name); err != nil {
			t.Fatal(err)
		}
		// A broker learns of the deletion a moment after the controller has answered.
		for err = nil; err == nil && ctx.Err() == nil; {
			_, _, _, err = kafkaadmin.Identities(ctx, adm, names(specs))
		}
		if !errors.Is(err, kafkaadmin.ErrNoTopic) || !strings.Contains(err.Error(), specs[0].Name) {
			t.Errorf("a deleted topic: %v", err)
		}
		specs[0].Partitions = 5
		if err := kafkaadmin.Create(ctx, adm, specs); err != nil {
			t.Fatal(err)
		}
		same, after, partitions, err := kafkaadmin.Identities(ctx, adm, names(specs))
		if err != nil {
			t.Fatal(err)
		}
		if same != cluster || after[specs[0].Name] == before[specs[0].Name] || after[specs[1].Name] != before[specs[1].Name] {
			t.Errorf("cluster %q, ids before %v and after %v", same, before, after)
		}
		if partitions[specs[0].Name] != 5 {
			t.Errorf("partitions %v", partitions)
		}
	})
}

func TestDifferencesAreSentencesWithAWayOut(t *testing.T) {
	for _, c := range []struct {
		diff kafkaadmin.Difference
		want []string
	}{
		{kafkaadmin.Difference{Topic: "t", Aspect: kafkaadmin.Missing}, []string{"t:", "missing", "tidemark topics create"}},
		{kafkaadmin.Difference{Topic: "t", Aspect: kafkaadmin.Partitions, Want: "4", Got: "2"}, []string{"2 partitions, want 4", "do not add partitions"}},
		{kafkaadmin.Difference{Topic: "t", Aspect: kafkaadmin.Replication, Want: "3", Got: "1"}, []string{"1 replicas", "want 3"}},
		{kafkaadmin.Difference{Topic: "t", Aspect: kafkaadmin.Config, Key: "k", Want: "a", Got: "b"}, []string{"k is b, want a"}},
		{kafkaadmin.Difference{Topic: "t", Aspect: kafkaadmin.Config, Key: "k", Want: "a"}, []string{"k is unknown to the broker, want a"}},
		{kafkaadmin.Difference{Topic: "t, u", Aspect: kafkaadmin.Mixed, Got: "2, 3"}, []string{"t, u: have 2, 3 partitions", "same number"}},
	} {
		for _, want := range c.want {
			if got := c.diff.String(); !strings.Contains(got, want) {
				t.Errorf("%+v reads %q; want %q in it", c.diff, got, want)
			}
		}
	}
}
