package recheck

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// bench is a processor of one partition with a Checker.
type bench struct {
	t       *testing.T
	config  processor.Config
	p       *processor.Processor
	client  *kgo.Client
	log     testkit.Output
	written projections.Position
}

func newBench(t *testing.T, settings projections.Settings) *bench {
	t.Helper()
	b := &bench{t: t}
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs()}
	set := env.Topics(t, 1)
	b.config = processor.Config{
		Brokers: env.Brokers, ClientOptions: testkit.FastClientOpts(), Group: testkit.UniqueName(t, "g"), DataDir: t.TempDir(),
		Settings: settings, Breaker: processor.Breaker{Off: true}, CutEvery: 10 * time.Millisecond,
	}
	for i, name := range events.InputTopics {
		b.config.Topics.Inputs[i] = set.Name(name)
	}
	b.config.Topics.Unread, b.config.Topics.Channels = set.Name(events.TopicUnread), set.Name(events.TopicChannels)
	b.config.Topics.Receipts, b.config.Topics.DeadLetters = set.Name(events.TopicReceipts), set.Name(events.TopicDeadLetters)
	b.client = testkit.Client(t, env.Brokers)
	var err error
	if b.p, err = processor.New(b.config); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.p.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Join(b.config.DataDir, scratchPrefix+"*")); len(left) > 0 {
			t.Errorf("checks left %q behind", left)
		}
	})
	testkit.Await(t, "the partition is live", func() bool { _, err := b.p.Live(0); return err == nil })
	return b
}

// checker makes a Checker that folds with a configuration like the processor's.
func (b *bench) checker(fold processor.Config) *Checker {
	b.t.Helper()
	log, err := obs.NewLogger(&b.log, obs.FormatText, "info")
	if err != nil {
		b.t.Fatal(err)
	}
	return New(Config{PerMinute: 60, Node: b.p, Fold: fold, Logger: log})
}

// write writes records, and waits until they are folded, and where stored is set until a cut has
// them.
func (b *bench) write(records []script.Record, stored bool) {
	b.t.Helper()
	var list []*kgo.Record
	for i := range records {
		value, err := records[i].Value()
		if err != nil {
			b.t.Fatal(err)
		}
		list = append(list, &kgo.Record{Topic: b.config.Topics.Inputs[records[i].Input], Key: records[i].Key(), Value: value,
			Timestamp: time.UnixMilli(records[i].Timestamp)})
		b.written[records[i].Input]++
	}
	if err := b.client.ProduceSync(b.t.Context(), list...).FirstErr(); err != nil {
		b.t.Fatal(err)
	}
	live, err := b.p.Live(0)
	if err != nil {
		b.t.Fatal(err)
	}
	testkit.Await(b.t, "all is folded", func() bool {
		live.RLock()
		defer live.RUnlock()
		return live.Position() == b.written && (!stored || live.StoredPosition() == b.written)
	})
}

func (b *bench) parse(story string) []script.Record {
	b.t.Helper()
	var p script.Parser
	records, err := p.Parse(strings.TrimSpace(story))
	if err != nil {
		b.t.Fatal(err)
	}
	return records
}

func counted(k *Checker) string {
	var all []string
	for _, outcome := range []string{equal, different, unknown} {
		var m dto.Metric
		if err := k.checked.WithLabelValues(outcome).Write(&m); err != nil {
			panic(err)
		}
		all = append(all, fmt.Sprintf("%s %g", outcome, m.GetCounter().GetValue()))
	}
	return strings.Join(all, ", ")
}

// A healthy node counts equal only, whatever was written before the copy and while it waits.
func TestAHealthyNodeIsEqual(t *testing.T) {
	n, seed := 2, rand.IntN(1_000_000)
	if !testing.Short() {
		n = 8
	}
	for ; n > 0; n, seed = n-1, seed+1 {
		draw := random.DrawMore(random.Admitted()...)
		if n%2 == 0 {
			draw = random.DrawCrowdMore(random.Admitted()...) // large channels
		}
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			drawn := rapid.Custom(draw).Example(seed)
			b := newBench(t, drawn.Settings)
			k := b.checker(b.config)
			records := drawn.Log.Interleave(func(left []events.Input) int { return rand.IntN(len(left)) })
			half := len(records) / 2
			b.write(records[:half], true)
			r, err := k.begin(t.Context(), 0, perRound)
			if err != nil {
				t.Fatal(err)
			}
			if r == nil {
				if b.written[events.Messages]+b.written[events.Reads] > 0 {
					t.Fatalf("no channel is found in %v records", b.written)
				}
				return
			}
			defer r.close()
			b.write(records[half:], false)
			if err := r.finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := counted(k); got != fmt.Sprintf("equal %d, different 0, unknown 0", len(r.channels)) || len(r.channels) == 0 {
				t.Errorf("%s of %q\n%s\n%s", got, r.channels, b.log.String(), drawn)
			}
		})
	}
}

// A node that has folded what the log does not have counts different, and the log names the channel
// and the code. Here the derivation leaves out one message that the node has counted.
func TestAWrongCountIsFound(t *testing.T) {
	b := newBench(t, projections.DefaultSettings())
	b.write(b.parse("a, b join #right\na, b join #wrong\na posts r1 #right\na posts w1 \"secret words\" #wrong"), true)
	fold := b.config
	fold.Skip = []events.RecordID{{Topic: b.config.Topics.Inputs[events.Messages], Partition: 0, Offset: b.written[events.Messages]}}
	k := b.checker(fold)
	live, err := b.p.Live(0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := (&round{Checker: k, live: live}).copy([]string{"right", "wrong"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	b.write(b.parse("a posts w2 \"secret words\" #wrong\na posts r2 #right"), false)
	if err := r.finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := counted(k); got != "equal 1, different 1, unknown 0" {
		t.Errorf("%s", got)
	}
	message := b.log.String()
	if strings.Count(message, "\n") != 1 || !strings.Contains(message, "code=TM041") || !strings.Contains(message, "channel=wrong") || strings.Contains(message, "secret") {
		t.Errorf("the log has\n%s", message)
	}
}

// What cannot be compared is unknown: more records than a round folds, a partition that went away,
// brokers that do not answer.
func TestWhatCannotBeComparedIsUnknown(t *testing.T) {
	b := newBench(t, projections.DefaultSettings())
	if k := b.checker(b.config); k.round(t.Context(), 1) != nil || counted(k) != "equal 0, different 0, unknown 0" {
		t.Errorf("without a record: %s", counted(k))
	}
	b.write(b.parse("a, b join #c\na posts m1 #c"), true)
	for name, spoil := range map[string]func(k *Checker, r *round){
		"too many records": func(_ *Checker, r *round) { r.from[events.Reads] -= maxRecords + 1 },
		"gone":             func(k *Checker, _ *round) { k.cfg.Node = away{} },
		"no broker":        func(k *Checker, _ *round) { k.cfg.Fold.Brokers = []string{"127.0.0.1:1"} },
	} {
		k := b.checker(b.config)
		r, err := k.begin(t.Context(), 0, perRound)
		if err != nil || r == nil {
			t.Fatal(r, err)
		}
		spoil(k, r)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		err = r.finish(ctx)
		cancel()
		r.close()
		if (err != nil) != (name == "no broker") || counted(k) != "equal 0, different 0, unknown 1" {
			t.Errorf("%s: %v, %s", name, err, counted(k))
		}
	}
}

// away is a node to which the partition does not belong any more.
type away struct{}

func (away) Status() []processor.PartitionStatus        { return nil }
func (away) Live(int32) (*projections.Partition, error) { return nil, processor.ErrNotOwner }

// Run goes on until its context is done, also with nothing to check, and removes what a killed
// process has left.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, scratchPrefix+"123", "partition-0")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	k := New(Config{PerMinute: 600, Node: away{}, Fold: processor.Config{DataDir: dir}, Logger: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx) }()
	testkit.Await(t, "what was left is removed", func() bool {
		_, err := os.Stat(filepath.Dir(left))
		return errors.Is(err, os.ErrNotExist)
	})
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Differences tell no text of a message, and empty lists are equal to none.
func TestDiffer(t *testing.T) {
	a := projections.View{Unread: 1, Labels: []string{}, Latest: projections.Head{Seq: 4, Preview: "secret"}}
	b := a
	b.Labels = nil
	if d, found := differ(a, b); found {
		t.Errorf("%+v", d)
	}
	b.Latest.Preview = "other secret"
	if d, found := differ(a, b); !found || d.field != "Latest" || strings.Contains(d.is+d.want, "secret") {
		t.Errorf("%+v, %t", d, found)
	}
	b.Unread = 2
	if d, _ := differ(a, b); d != (difference{field: "Unread", is: "1", want: "2"}) {
		t.Errorf("%+v", d)
	}
}
