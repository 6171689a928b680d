package importer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// given is a product with events instead of rows.
type given []Event

func (g given) Events(_ context.Context, _ *Problems, emit func(Origin, *Event) error) error {
	for i, e := range g {
		e.Mentions = slices.Clone(e.Mentions)
		if err := emit(Origin{"events", int64(i + 1)}, &e); err != nil {
			return err
		}
	}
	return nil
}

// company returns the events of a product with n messages.
func company(n int, seed uint64) (list given) {
	r := rand.New(rand.NewPCG(seed, 1))
	user := func() string { return fmt.Sprintf("u%d", r.IntN(30)) }
	last := epoch + int64(n)*hour
	for c := range 10 {
		name := fmt.Sprintf("c%d", c)
		list = append(list, Event{Kind: KindChannel, Channel: name, Direct: c > 7})
		for u := range 30 {
			list = append(list, Event{Kind: KindMember, Channel: name, User: fmt.Sprintf("u%d", u), At: epoch + r.Int64N(3)*day},
				Event{Kind: KindPointer, Channel: name, User: fmt.Sprintf("u%d", u), At: epoch + r.Int64N(last-epoch), Until: epoch + r.Int64N(last-epoch)})
		}
		list = append(list, Event{Kind: KindMute, Channel: name, User: user(), At: epoch + 1},
			Event{Kind: KindFollow, Channel: name, User: user(), Thread: fmt.Sprintf("m%d", c), At: epoch + 1})
	}
	for i := range n {
		c := i % 10
		e := Event{Kind: KindPost, Channel: fmt.Sprintf("c%d", c), User: user(), ID: fmt.Sprintf("m%d", i), At: epoch + int64(i)*hour, Text: "words"}
		if r.IntN(10) == 0 && i > 100 {
			e.Thread = fmt.Sprintf("m%d", c)
		}
		if r.IntN(20) == 0 {
			e.Until = e.At + r.Int64N(100)*hour
		}
		list = append(list, e)
	}
	return list
}

// cluster is an embedded Kafka for imports.
type cluster struct {
	*Config
	adm *kadm.Client
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	brokers := testkit.FakeKafka(t).ListenAddrs()
	conf := &Config{
		Kafka: config.Kafka{Brokers: brokers}, Product: "given", Slot: "import", Source: "here",
		now: func() time.Time { return time.UnixMilli(epoch + 100_000*hour) },
	}
	return cluster{conf, kadm.NewClient(testkit.Client(t, brokers))}
}

// topics creates fresh topics and returns a configuration for them.
func (c cluster) topics(t *testing.T, prefix string) Config {
	t.Helper()
	if err := kafkaadmin.Create(t.Context(), c.adm, events.PrefixedTopicSpecs(prefix, 3, 1)); err != nil {
		t.Fatal(err)
	}
	conf := *c.Config
	conf.Prefix = prefix
	return conf
}

// values returns the records of the inputs, in the order of each partition.
func (c cluster) values(t *testing.T, conf Config) (all []string) {
	t.Helper()
	for _, in := range []events.Input{events.Messages, events.Reads} {
		topic := conf.Prefix + in.String()
		to, err := ends(t.Context(), c.adm, topic, 3)
		if err != nil {
			t.Fatal(err)
		}
		by := make([][]string, 3)
		if err := readLog(t.Context(), &conf, topic, make([]int64, 3), to, func(r *kgo.Record) error {
			by[r.Partition] = append(by[r.Partition], fmt.Sprintf("%s/%d %d %s %x", in, r.Partition, r.Timestamp.UnixMilli(), r.Key, r.Value))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		all = append(all, slices.Concat(by...)...)
	}
	return all
}

var errKilled = errors.New("killed")

// killed runs an import, kills it after random numbers of records, and then lets it complete. It
// returns the number of kills.
func killed(t *testing.T, conf Config, product Product, r *rand.Rand) (kills int) {
	t.Helper()
	for {
		left := 1 + r.IntN(900)
		conf.every = time.Duration(r.IntN(20)) * time.Millisecond
		conf.spare = func() error {
			if left--; left == 0 {
				return errKilled
			}
			return nil
		}
		switch _, err := Run(t.Context(), conf, product); {
		case err == nil:
			return kills
		case !errors.Is(err, errKilled):
			t.Fatal(err)
		}
		kills++
	}
}

// An import that is killed at random points, with records in flight, leaves the same log, byte for
// byte, as an uninterrupted one, with and without a cut.
func TestKilledImportsWriteTheSame(t *testing.T) {
	c := newCluster(t)
	kills := 0
	for round := range 10 {
		product := company(1500, uint64(round))
		whole, parts := c.topics(t, fmt.Sprintf("whole-%d.", round)), c.topics(t, fmt.Sprintf("parts-%d.", round))
		if round%2 == 1 {
			whole.Since = time.Duration(100_000-700) * time.Hour
			parts.Since = whole.Since
		}
		sum, err := Run(t.Context(), whole, product)
		if err != nil {
			t.Fatal(err)
		}
		kills += killed(t, parts, product, rand.New(rand.NewPCG(uint64(round), 2)))
		want, got := c.values(t, whole), c.values(t, parts)
		if int64(len(want)) != sum.Messages+sum.Reads || len(want) < 800 {
			t.Fatalf("%d records, of which %+v", len(want), sum)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("round %d: killed, %d records; whole, %d", round, len(got), len(want))
		}
		if _, err := Run(t.Context(), parts, product); !errors.Is(err, ErrDone) {
			t.Errorf("once more: %v", err)
		}
	}
	if kills < 15 {
		t.Errorf("killed %d times", kills)
	}
}

// A source that has changed among the messages already written is refused. One that has changed
// among later messages is not.
func TestChangedSources(t *testing.T) {
	c := newCluster(t)
	product := company(600, 1)
	half := func(prefix string) Config {
		conf := c.topics(t, prefix)
		left := 500
		conf.every = 1
		conf.spare = func() error {
			if left--; left == 0 {
				return errKilled
			}
			return nil
		}
		if _, err := Run(t.Context(), conf, product); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		conf.spare = nil
		return conf
	}
	gone := slices.Clone(product)
	at := slices.IndexFunc(gone, func(e Event) bool { return e.Kind == KindPost })
	if _, err := Run(t.Context(), half("gone."), slices.Delete(gone, at, at+1)); !errors.Is(err, errChanged) {
		t.Errorf("without the first message: %v", err)
	}
	more := append(slices.Clone(product), Event{Kind: KindPost, Channel: "c1", User: "u1", ID: "late", At: epoch + 900*hour})
	if sum, err := Run(t.Context(), half("more."), more); err != nil || sum.Before < 400 {
		t.Errorf("with a later message: %+v, %v", sum, err)
	}
	conf := half("other.")
	conf.Source = "there"
	if _, err := Run(t.Context(), conf, product); err == nil || !strings.Contains(err.Error(), "name another --slot") {
		t.Errorf("another source: %v", err)
	}
	conf = half("since.")
	conf.Since = time.Hour
	if _, err := Run(t.Context(), conf, product); err == nil || !strings.Contains(err.Error(), "began with --since 0s (0s is none), and now it is 1h0m0s") {
		t.Errorf("a cut where there was none: %v", err)
	}
	state := State{Cut: 1000, Now: 5000}
	if got := state.since(); got != 4*time.Second {
		t.Errorf("since: %v", got)
	}
}

// Topics with records are refused without --beside. A dry run needs no topics and writes no
// records.
func TestTopicsOfOthers(t *testing.T) {
	c := newCluster(t)
	conf := c.topics(t, "used.")
	if _, err := Run(t.Context(), conf, company(20, 1)); err != nil {
		t.Fatal(err)
	}
	conf.Slot = "second"
	if _, err := Run(t.Context(), conf, company(20, 2)); err == nil || !strings.Contains(err.Error(), "add --beside") {
		t.Errorf("used topics: %v", err)
	}
	conf.Beside = true
	before := len(c.values(t, conf))
	if sum, err := Run(t.Context(), conf, company(20, 2)); err != nil || int64(len(c.values(t, conf))-before) != sum.Messages+sum.Reads {
		t.Errorf("beside: %+v, %v", sum, err)
	}
	conf.DryRun, conf.Kafka.Brokers = true, []string{"127.0.0.1:1"}
	if sum, err := Run(t.Context(), conf, company(20, 2)); err != nil || sum.Messages == 0 || !sum.DryRun {
		t.Errorf("dry run: %+v, %v", sum, err)
	}
}
