package gateway

import (
	"context"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events/eventsv1"
)

// produceTimeout bounds how long an event may take to be acknowledged.
const produceTimeout = 10 * time.Second

// produce writes an event to a topic and says where it is, or why not, in a goroutine of the client. It never waits, so
// it may be called with the hub's lock, which done may take.
func (g *Gateway) produce(topic, channelID string, event proto.Message, done func(token string, offset int64, err error)) {
	value, err := proto.Marshal(event)
	if err != nil {
		go done("", 0, err) // the ids of a command are valid UTF-8: it came as JSON
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), produceTimeout)
	g.cfg.Producer.TryProduce(ctx, &kgo.Record{Topic: topic, Key: []byte(channelID), Value: value}, func(r *kgo.Record, err error) {
		cancel()
		if err != nil {
			g.metrics.produceErrors.Inc()
			g.cfg.Logger.Warn("an event was not written", "topic", topic, "err", err)
			done("", 0, err)
			return
		}
		done(topic+"/"+strconv.Itoa(int(r.Partition))+"/"+strconv.FormatInt(r.Offset, 10), r.Offset, nil)
	})
}

// readEvent is an event of a user in a channel, now.
func (g *Gateway) readEvent(userID, channelID, instance string) *eventsv1.ReadEvent {
	return &eventsv1.ReadEvent{
		ChannelId: channelID, UserId: userID, InstanceId: instance, OccurredAt: timestamppb.New(g.cfg.Now()),
	}
}
