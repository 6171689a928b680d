package bench

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/ingestv1/ingestv1connect"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// write produces messages and reads. It returns the tokens of the last record of each partition.
func (sv *server) write(ctx context.Context, all ...proto.Message) ([]string, error) {
	records := make([]*kgo.Record, len(all))
	for i, e := range all {
		var err error
		if records[i], err = traffic.Record(e, sv.s.input); err != nil {
			return nil, err
		}
	}
	if err := sv.producer.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return nil, err
	}
	last := map[string]*kgo.Record{}
	for _, r := range records {
		last[fmt.Sprint(r.Topic, r.Partition)] = r
	}
	var tokens []string
	for _, r := range last {
		tokens = append(tokens, events.RecordID{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}.String())
	}
	return tokens, nil
}

func joins(channel string, users ...string) *eventsv1.MessageEvent {
	return traffic.Message(channel, &eventsv1.MembersJoined{UserIds: users})
}

func posts(channel, id, sender, thread string, mentions ...string) *eventsv1.MessageEvent {
	return traffic.Message(channel, &eventsv1.MessagePosted{
		MessageId: id, SenderId: sender, ThreadId: thread, Preview: "hello", Mentions: mentions})
}

// markAll measures MarkAllRead for a user with 5,000 unread channels: until it answers, and until
// all reads are folded. Then it marks each channel unread again, which must bring back every one.
func (sv *server) markAll(ctx context.Context) (gauge.Result, error) {
	const user, channels, rounds = "tidy", 5_000, 5
	sv.s.env.report("MarkAllRead of %d channels", channels)
	var setup []proto.Message
	for i := range channels {
		ch := fmt.Sprintf("tidy-%d", i)
		setup = append(setup, joins(ch, user, "other"), posts(ch, "m1", "other", ""))
	}
	after, err := sv.write(ctx, setup...)
	if err != nil {
		return gauge.Result{}, err
	}
	queries := queryv1connect.NewQueryServiceClient(http.DefaultClient, sv.url)
	unread := func(after []string, want uint32) error {
		res, err := queries.GetInbox(ctx, connect.NewRequest(&queryv1.GetInboxRequest{UserId: user, PageSize: 1, After: after}))
		if err == nil && res.Msg.Totals.UnreadChannels != want {
			err = fmt.Errorf("GetInbox: %s has %d unread channels, want %d", user, res.Msg.Totals.UnreadChannels, want)
		}
		return err
	}
	ingest := ingestv1connect.NewIngestServiceClient(http.DefaultClient, sv.url)
	var answered, folded []time.Duration
	for range rounds {
		if err := unread(after, channels); err != nil {
			return gauge.Result{}, err
		}
		began := time.Now()
		res, err := ingest.MarkAllRead(ctx, connect.NewRequest(&ingestv1.MarkAllReadRequest{UserId: user}))
		if err != nil {
			return gauge.Result{}, err
		}
		answered = append(answered, time.Since(began))
		if err := unread(res.Msg.After, 0); err != nil {
			return gauge.Result{}, err
		}
		folded = append(folded, time.Since(began))
		var marks []proto.Message
		for i := range channels {
			marks = append(marks, traffic.Read(fmt.Sprintf("tidy-%d", i), user,
				&eventsv1.MarkedUnread{MessageId: "m1", HeadSeq: 1}))
		}
		if after, err = sv.write(ctx, marks...); err != nil {
			return gauge.Result{}, err
		}
	}
	if err := unread(after, channels); err != nil {
		return gauge.Result{}, err
	}
	p50, _, largest := gauge.Quantiles(answered)
	whole, _, _ := gauge.Quantiles(folded)
	return gauge.Result{
		Name:  "MarkAllRead, 5,000 unread channels",
		Goals: []gauge.Goal{gauge.AtMost("ms, largest", largest, 1000)},
		Note:  fmt.Sprintf("p50 %.0f ms, %.0f ms until the inbox says so, of %d; marks bring each of them back", p50, whole, rounds),
	}, nil
}

// threads measures the panel of a user who follows 100 threads.
func (sv *server) threads(ctx context.Context) (gauge.Result, error) {
	const user, threads = "follower", 100
	sv.s.env.report("GetThreads of %d threads", threads)
	var setup []proto.Message
	for i := range threads {
		ch, root := fmt.Sprintf("threads-%d", i%10), fmt.Sprintf("root-%d", i)
		if i < 10 {
			setup = append(setup, joins(ch, user, "other"))
		}
		setup = append(setup, posts(ch, root, "other", ""), posts(ch, root+"-1", "other", root, user), posts(ch, root+"-2", "other", root))
	}
	after, err := sv.write(ctx, setup...)
	if err != nil {
		return gauge.Result{}, err
	}
	queries := queryv1connect.NewQueryServiceClient(http.DefaultClient, sv.url)
	took, err := repeated(200, func() error {
		res, err := queries.GetThreads(ctx, connect.NewRequest(&queryv1.GetThreadsRequest{UserId: user, PageSize: threads, After: after}))
		if err == nil && (len(res.Msg.Threads) != threads || res.Msg.Totals.ThreadUnread != 2*threads) {
			err = fmt.Errorf("GetThreads: %d threads, want %d; totals %v", len(res.Msg.Threads), threads, res.Msg.Totals)
		}
		return err
	})
	if err != nil {
		return gauge.Result{}, err
	}
	p50, p99, _ := gauge.Quantiles(took)
	return gauge.Result{
		Name:  "GetThreads, 100 threads",
		Goals: []gauge.Goal{gauge.AtMost("ms, p50", p50, 5), gauge.AtMost("ms, p99", p99, 5)},
		Note:  fmt.Sprintf("%d requests one after the other", len(took)),
	}, nil
}

// repeated measures n calls in sequence, after a first one that it does not measure.
func repeated(n int, call func() error) (took []time.Duration, err error) {
	for i := range n + 1 {
		began := time.Now()
		if err := call(); err != nil {
			return nil, err
		}
		if i > 0 {
			took = append(took, time.Since(began))
		}
	}
	return took, nil
}
