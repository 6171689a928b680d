package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// receipts measures a channel with 100,000 members, each of whom has read up to one of its 1,000
// messages. It measures the first page and the counts of the newest message, of one in the middle
// and of the first one, and the readers of the channel.
func (sv *server) receipts(ctx context.Context) ([]gauge.Result, error) {
	const channel, members, messages = "crowd", 100_000, 1_000
	sv.s.env.report("receipts in a channel of 100,000 members")
	rng := rand.New(rand.NewPCG(5, 5))
	var setup []proto.Message
	for i := 0; i < members; i += 1_000 {
		users := make([]string, 1_000)
		for j := range users {
			users[j] = fmt.Sprintf("crowd-%d", i+j)
		}
		setup = append(setup, joins(channel, users...))
	}
	for i := range messages {
		setup = append(setup, posts(channel, fmt.Sprintf("m%d", i+1), "author", ""))
	}
	if _, err := sv.write(ctx, setup...); err != nil {
		return nil, err
	}
	setup = setup[:0]
	for i := range members {
		setup = append(setup, traffic.Read(channel, fmt.Sprintf("crowd-%d", i), traffic.ReadSeq(1+rng.Uint32N(messages))))
	}
	after, err := sv.write(ctx, setup...)
	if err != nil {
		return nil, err
	}
	queries := queryv1connect.NewQueryServiceClient(http.DefaultClient, sv.url)
	// All writes must be folded before anything is timed. Otherwise the first answer would wait for
	// them.
	if _, err := queries.GetChannel(ctx, connect.NewRequest(&queryv1.GetChannelRequest{ChannelId: channel, After: after})); err != nil {
		return nil, err
	}
	var out []gauge.Result
	for _, m := range []struct {
		id, name string
	}{{fmt.Sprintf("m%d", messages), "newest"}, {fmt.Sprintf("m%d", messages/2), "middle"}, {"m1", "oldest"}} {
		read := uint32(0)
		took, err := repeated(100, func() error {
			res, err := queries.GetReceipts(ctx, connect.NewRequest(&queryv1.GetReceiptsRequest{ChannelId: channel, MessageId: m.id, After: after}))
			if err == nil && (res.Msg.RecipientCount != members || len(res.Msg.Recipients) != 50) {
				err = fmt.Errorf("GetReceipts: message %s has %d recipients, and the page lists %d", m.id, res.Msg.RecipientCount, len(res.Msg.Recipients))
			}
			if err == nil {
				read = res.Msg.ReadCount
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		p50, p99, _ := gauge.Quantiles(took)
		out = append(out, gauge.Result{
			Name:  "GetReceipts, 100,000 members, " + m.name + " of 1,000 messages",
			Goals: []gauge.Goal{gauge.AtMost("ms, p50", p50, 20), gauge.AtMost("ms, p99", p99, 20)},
			Note:  fmt.Sprintf("first page and counts, read by %d; %d requests one after the other", read, len(took)),
		})
	}
	took, err := repeated(100, func() error {
		res, err := queries.GetReaders(ctx, connect.NewRequest(&queryv1.GetReadersRequest{ChannelId: channel, After: after}))
		if err == nil && (len(res.Msg.Readers) != 50 || res.Msg.Readers[0].Seq == 0) {
			err = fmt.Errorf("GetReaders: %d readers, want 50; the first is %v", len(res.Msg.Readers), res.Msg.Readers[:min(1, len(res.Msg.Readers))])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	p50, p99, _ := gauge.Quantiles(took)
	return append(out, gauge.Result{
		Name:  "GetReaders, 100,000 members, first page",
		Goals: []gauge.Goal{gauge.AtMost("ms, p50", p50, 10), gauge.AtMost("ms, p99", p99, 10)},
		Note:  fmt.Sprintf("%d requests one after the other", len(took)),
	}), nil
}
