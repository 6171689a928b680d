package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/trace"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/ingestv1/ingestv1connect"
	"github.com/tidemark/tidemark/query/internal/codec"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/internal/position"
)

const (
	// batchOverhead is the size of a batch with a single record besides the record's value:
	// headers, and a key of up to events.MaxIDBytes.
	batchOverhead = 1024
)

// Service implements IngestService.
type Service struct {
	cfg      Config
	maxValue int // size of the largest value that the producer accepts, in bytes
}

// Config configures a Service. All fields but Trace must be set.
type Config struct {
	Producer *kgo.Client
	Topics   position.Topics
	Queries  Queries
	// Timeout limits a call.
	Timeout time.Duration
	Now     func() time.Time
	Logger  *slog.Logger
	// Trace gives events the trace of their call; it may be nil.
	Trace trace.Tracer
}

var _ ingestv1connect.IngestServiceHandler = (*Service)(nil)

// New creates a Service.
func New(c Config) *Service {
	g := &Service{cfg: c, maxValue: events.MaxValueBytes}
	if n, ok := c.Producer.OptValue(kgo.ProducerBatchMaxBytes).(int32); ok {
		g.maxValue = min(g.maxValue, int(n)-batchOverhead)
	}
	return g
}

// Publish validates all events, then produces them, each to its topic with its channel as key, so
// that murmur2 finds the partition and the events of a channel keep their order. It answers once
// all in-sync replicas have acknowledged all events, with one token for each event, in their order.
//
// One invalid event makes Publish refuse the whole call before anything is written. A call that
// fails later may have written some of its events. Repeating it is harmless, because a message id
// counts once and reads are absolute.
func (g *Service) Publish(ctx context.Context, req *connect.Request[ingestv1.PublishRequest]) (*connect.Response[ingestv1.PublishResponse], error) {
	list := req.Msg.Events
	switch {
	case len(list) == 0:
		return nil, fault.Invalid("events is empty")
	case len(list) > codec.MaxEvents:
		return nil, fault.Invalid("events has %d events, the limit is %d", len(list), codec.MaxEvents)
	}
	records := make([]*kgo.Record, len(list))
	var d events.Decoder
	for i, e := range list {
		r, err := g.record(&d, e)
		if err != nil {
			return nil, fault.Invalid("events[%d]: %v", i, err)
		}
		records[i] = r
	}
	ctx, cancel := context.WithTimeout(ctx, g.cfg.Timeout)
	defer cancel()
	if err := g.produce(ctx, records); err != nil {
		return nil, err
	}
	res := &ingestv1.PublishResponse{After: make([]string, len(records))}
	for i, r := range records {
		in, _ := g.cfg.Topics.Input(r.Topic)
		res.After[i] = g.cfg.Topics.Token(in, r.Partition, r.Offset)
	}
	return connect.NewResponse(res), nil
}

// record encodes e and validates it by decoding it, as the processor will.
func (g *Service) record(d *events.Decoder, e *ingestv1.Event) (*kgo.Record, error) {
	var (
		in  events.Input
		msg proto.Message
	)
	switch k := e.GetEvent().(type) {
	case *ingestv1.Event_Message:
		in, msg = events.Messages, k.Message
	case *ingestv1.Event_Read:
		in, msg = events.Reads, k.Read
	case *ingestv1.Event_Delivery:
		in, msg = events.Deliveries, k.Delivery
	default:
		return nil, errors.New("none of message, read and delivery is set")
	}
	events.StateVersion(msg)
	value, err := proto.Marshal(msg)
	if err != nil {
		return nil, err
	}
	var (
		channel []byte
		now     = g.cfg.Now().UnixMilli()
	)
	switch in {
	case events.Messages:
		var m events.Message
		err = d.Message(value, now, &m)
		channel = m.ChannelID
	case events.Reads:
		var r events.Read
		err = d.Read(value, now, &r)
		channel = r.ChannelID
	case events.Deliveries:
		var v events.Delivery
		err = d.Delivery(value, now, &v)
		channel = v.ChannelID
	}
	if err != nil {
		return nil, err
	}
	if len(value) > g.maxValue {
		return nil, fmt.Errorf("the event has %d bytes, the limit is %d", len(value), g.maxValue)
	}
	return &kgo.Record{Topic: g.cfg.Topics[in], Key: channel, Value: value}, nil
}

// produce returns once every record is acknowledged.
func (g *Service) produce(ctx context.Context, records []*kgo.Record) error {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		first error
		index int
		fails int
	)
	var headers []kgo.RecordHeader
	if g.cfg.Trace != nil {
		headers = trace.Headers(g.cfg.Trace.Of(ctx))
	}
	wg.Add(len(records))
	for i, r := range records {
		r.Headers = headers
		g.cfg.Producer.Produce(ctx, r, func(_ *kgo.Record, err error) {
			defer wg.Done()
			if err == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if fails == 0 || i < index {
				first, index = err, i
			}
			fails++
		})
	}
	wg.Wait()
	if fails == 0 {
		return nil
	}
	topic := records[index].Topic
	g.cfg.Logger.WarnContext(ctx, "publish failed", "topic", topic, "failed", fails, "of", len(records), "err", first)
	if errors.Is(first, kerr.MessageTooLarge) {
		return fault.Invalid("events[%d]: larger than topic %s takes (max.message.bytes); of %d events %d were not written",
			index, topic, len(records), fails)
	}
	return fault.Unavailable("%d of %d events were not acknowledged, the first is events[%d] to %s: %s; send the call again, "+
		"what was written is told apart", fails, len(records), index, topic, fault.Public(first))
}
