package rebuild_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/app/rebuild"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// TestReshardOfRandomScripts: whatever was written, all of DESIGN §4.7 too, every user has the same
// numbers after it is written into another number of partitions. The scripts are of a few days: a
// log time is a partition's, so what lapses and expires by it depends on which channels share one.
func TestReshardOfRandomScripts(t *testing.T) {
	seed, scripts := rand.IntN(1_000_000), 12
	if !testing.Short() {
		scripts = 300
	}
	if s := os.Getenv("TIDEMARK_TEST_SEED"); s != "" {
		var err error
		if seed, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("TIDEMARK_TEST_SEED=%d tells it again", seed)
	brokers := testkit.FakeKafka(t).ListenAddrs()
	topics := testkit.Topics(t, brokers, 2, 1)
	var from, to processor.Topics
	for i, name := range events.InputTopics {
		from.Inputs[i], to.Inputs[i] = topics.Name(name), topics.Name("v2."+name)
	}
	to.Unread, to.Channels = topics.Name("v2.unread"), topics.Name("v2.channels")
	to.Receipts, to.DeadLetters = topics.Name("v2.receipts"), topics.Name("v2.dead-letters")

	rng := rand.New(rand.NewPCG(uint64(seed), 15)) //nolint:gosec // a seed
	client := testkit.Client(t, brokers)
	kinds := map[events.Kind]int{}
	written := int64(0)
	draws := []func(*rapid.T) *random.Case{random.DrawMore(random.Admitted()...), random.DrawCrowdMore(random.Admitted()...)}
	n := 0
	for ; n < scripts || !drawnAll(kinds); seed++ {
		if n > 20*scripts {
			t.Fatalf("%d scripts, and not one of each kind: %v", n, kinds)
		}
		drawn := rapid.Custom(draws[min(seed%10, 1)^1]).Example(seed)
		if spans(&drawn.Log) > 6*24*time.Hour {
			continue
		}
		n++
		var list []*kgo.Record
		for _, r := range drawn.Log.Interleave(func(left []events.Input) int { return rng.IntN(len(left)) }) {
			kinds[kindOf(&r)]++
			value, err := inChannel(r, fmt.Sprintf("s%d-", n)).Value()
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, &kgo.Record{Topic: from.Inputs[r.Input], Key: fmt.Appendf(nil, "s%d-%s", n, r.Key()), Value: value,
				Timestamp: time.UnixMilli(r.Timestamp)})
		}
		if err := client.ProduceSync(t.Context(), list...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		written += int64(len(list))
	}
	settings := projections.DefaultSettings()
	settings.FanoutLimit, settings.ReceiptLimit = 5, 5
	res, err := rebuild.Reshard(t.Context(), rebuild.ReshardConfig{Brokers: brokers, ClientOptions: testkit.FastClientOpts(), From: from, To: to,
		Partitions: 5, Replication: 1, Dir: filepath.Join(t.TempDir(), "reshard"), Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range res.Differences {
		t.Error(d.String())
	}
	if res.Copied+res.Bad != written || res.Total != 0 || res.Channels < n/2 || res.Pairs < n {
		t.Errorf("of %d records: %+v", written, res)
	}
	t.Logf("%d scripts, %d records, %d channels, %d pairs", n, written, res.Channels, res.Pairs)
}

// drawnAll reports whether there is one of each kind of DESIGN §4.7.
func drawnAll(kinds map[events.Kind]int) bool {
	for _, k := range []events.Kind{
		events.KindNotifySet, events.KindFlagSet, events.KindChannelFiled, events.KindMessagesHidden, events.KindLineSet,
		events.KindMessagesViewed, events.KindLabelsSet, events.KindChannelUpdated,
	} {
		if kinds[k] == 0 {
			return false
		}
	}
	return true
}

func kindOf(r *script.Record) events.Kind {
	switch r.Input {
	case events.Messages:
		return r.Message.Kind
	case events.Reads:
		return r.Read.Kind
	}
	return r.Delivery.Kind
}

// inChannel is a record in a channel of another name.
func inChannel(r script.Record, prefix string) *script.Record {
	channel := append([]byte(prefix), r.Key()...)
	switch r.Input {
	case events.Messages:
		m := *r.Message
		m.ChannelID, r.Message = channel, &m
	case events.Reads:
		m := *r.Read
		m.ChannelID, r.Read = channel, &m
	default:
		m := *r.Delivery
		m.ChannelID, r.Delivery = channel, &m
	}
	return &r
}

// spans is how long it is from the first time in a script to the last.
func spans(l *script.Log) time.Duration {
	first, last := int64(script.Start), int64(script.Start)
	note := func(at int64) { first, last = min(first, at), max(last, at) }
	for _, topic := range l {
		for i := range topic {
			r := &topic[i]
			note(r.Timestamp)
			switch r.Input {
			case events.Messages:
				note(r.Message.OccurredAt)
			case events.Reads:
				note(r.Read.OccurredAt)
			default:
				note(r.Delivery.OccurredAt)
			}
		}
	}
	return time.Duration(last-first) * time.Millisecond
}
