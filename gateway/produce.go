package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/trace"
)

// produceTimeout is how long an event may take to be acknowledged.
const produceTimeout = 10 * time.Second

// produce writes an event to a topic. It never waits, so the caller may hold the hub's lock. A
// goroutine of the client calls done with the event's token and offset, or with an error; done may
// take the lock. produce uses only the request id of asked, for log lines, so asked may already be
// done.
func (g *Gateway) produce(asked context.Context, topic, channelID string, event proto.Message, done func(token string, offset int64, err error)) {
	headers, written := trace.Start(g.cfg.Trace, "write to "+topic)
	panicked := g.panicked("what follows from an event is left out")
	var once sync.Once // done counts down the events being written, so it must be called once even if something panics
	acked := func(token string, offset int64, err error) {
		once.Do(func() {
			written(err)
			if bug := guard.Do("the answer to an event", func() { done(token, offset, err) }); bug != nil {
				panicked(guard.Of(bug))
			}
		})
	}
	err := guard.Err("the writing of an event", func() error {
		g.plant("produce")
		value, err := proto.Marshal(event)
		if err != nil {
			return err // cannot happen: the ids came as JSON, so they are valid UTF-8
		}
		ctx, cancel := context.WithTimeout(context.Background(), produceTimeout)
		g.cfg.Producer.TryProduce(ctx, &kgo.Record{Topic: topic, Key: []byte(channelID), Value: value, Headers: headers}, func(r *kgo.Record, err error) {
			cancel()
			if err != nil {
				g.metrics.produceErrors.Inc()
				g.cfg.Logger.WarnContext(asked, "an event was not written", "topic", topic, "err", err)
				acked("", 0, err)
				return
			}
			acked(events.RecordID{Topic: topic, Partition: r.Partition, Offset: r.Offset}.String(), r.Offset, nil)
		})
		return nil
	})
	if err == nil {
		return
	}
	if bug := guard.Of(err); bug != nil {
		g.panicked("an event was not written")(bug)
	}
	guard.Go("the answer to an event", panicked, func() { acked("", 0, err) })
}

// readEvent creates an event of a user in a channel, with the current time.
func (g *Gateway) readEvent(userID, channelID, instance string) *eventsv1.ReadEvent {
	return &eventsv1.ReadEvent{
		ChannelId: channelID, UserId: userID, InstanceId: instance, OccurredAt: timestamppb.New(g.cfg.Now()),
	}
}
