package query

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/ingestv1/ingestv1connect"
)

const ingestPartitions = 4

// newBroker starts a broker with the input topics and a client of it.
func newBroker(t *testing.T) (*kfake.Cluster, *kgo.Client) {
	t.Helper()
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(ingestPartitions, events.InputTopics[:]...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.ListenAddrs()...), kgo.ProducerLinger(0), kgo.RecordRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return broker, client
}

func newIngestServer(t *testing.T, producer *kgo.Client) (ingestv1connect.IngestServiceClient, string) {
	srv := serve(t, Handler(Config{Node: noNode{}, Producer: producer, Logger: slog.New(slog.DiscardHandler)}))
	return ingestv1connect.NewIngestServiceClient(srv.Client(), srv.URL), srv.URL
}

func posted(channel, messageID string) *ingestv1.Event {
	return &ingestv1.Event{Event: &ingestv1.Event_Message{Message: &eventsv1.MessageEvent{
		ChannelId: channel,
		Kind:      &eventsv1.MessageEvent_MessagePosted{MessagePosted: &eventsv1.MessagePosted{MessageId: messageID, SenderId: "bob"}},
	}}}
}

func readUpTo(channel, user string, seq uint32) *ingestv1.Event {
	return &ingestv1.Event{Event: &ingestv1.Event_Read{Read: &eventsv1.ReadEvent{
		ChannelId: channel, UserId: user,
		Kind: &eventsv1.ReadEvent_ReadUpTo{ReadUpTo: &eventsv1.ReadUpTo{Target: &eventsv1.ReadUpTo_Seq{Seq: seq}}},
	}}}
}

func queued(channel, user, messageID string) *ingestv1.Event {
	return &ingestv1.Event{Event: &ingestv1.Event_Delivery{Delivery: &eventsv1.DeliveryEvent{
		ChannelId: channel, UserId: user,
		Kind: &eventsv1.DeliveryEvent_Queued{Queued: &eventsv1.Queued{MessageId: messageID}},
	}}}
}

// consumeAll reads n records of the inputs, by token.
func consumeAll(t *testing.T, broker *kfake.Cluster, n int) map[string]*kgo.Record {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.ListenAddrs()...), kgo.ConsumeTopics(events.InputTopics[:]...),
		kgo.FetchMaxWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	got := map[string]*kgo.Record{}
	for len(got) < n {
		f := client.PollFetches(ctx)
		if err := f.Err0(); err != nil {
			t.Fatalf("after %d of %d records: %v", len(got), n, err)
		}
		f.EachRecord(func(r *kgo.Record) {
			got[events.RecordID{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}.String()] = r
		})
	}
	return got
}

func TestPublish(t *testing.T) {
	broker, producer := newBroker(t)
	client, url := newIngestServer(t, producer)
	list := []*ingestv1.Event{posted("c1", "m1"), readUpTo("c1", "ann", 1), posted("c2", "m1"), posted("c1", "m2"), queued("c1", "ann", "m2")}
	res, err := client.Publish(t.Context(), connect.NewRequest(&ingestv1.PublishRequest{Events: list}))
	if err != nil {
		t.Fatal(err)
	}
	jsonBody := `{"events":[{"message":{"channel_id":"c1","messagePosted":{"message_id":"m3","senderId":"bob"}}}]}`
	httpRes, err := http.Post(url+ingestv1connect.IngestServicePublishProcedure, "application/json", strings.NewReader(jsonBody))
	if err != nil {
		t.Fatal(err)
	}
	httpRes.Body.Close()
	if httpRes.StatusCode != 200 {
		t.Fatalf("JSON: status %d", httpRes.StatusCode)
	}

	records := consumeAll(t, broker, len(list)+1)
	var d events.Decoder
	for i, want := range []struct{ topic, channel, messageID string }{
		{events.TopicMessages, "c1", "m1"}, {events.TopicReads, "c1", ""}, {events.TopicMessages, "c2", "m1"},
		{events.TopicMessages, "c1", "m2"}, {events.TopicDeliveries, "c1", "m2"},
	} {
		r := records[res.Msg.After[i]]
		if r == nil {
			t.Fatalf("events[%d]: no record at %s", i, res.Msg.After[i])
		}
		if r.Topic != want.topic || string(r.Key) != want.channel || r.Partition != events.PartitionOf(r.Key, ingestPartitions) {
			t.Errorf("events[%d] is at %s with key %q", i, res.Msg.After[i], r.Key)
		}
		if want.topic == events.TopicMessages {
			var m events.Message
			if err := d.Message(r.Value, r.Timestamp.UnixMilli(), &m); err != nil || string(m.MessageID) != want.messageID {
				t.Errorf("events[%d]: message %q, %v, want %q", i, m.MessageID, err, want.messageID)
			}
		}
	}
	m1, m2 := records[res.Msg.After[0]], records[res.Msg.After[3]]
	if m1.Offset >= m2.Offset {
		t.Errorf("events of a channel changed their order: %s, %s", res.Msg.After[0], res.Msg.After[3])
	}
}

func TestPublishRefusesTheWholeCall(t *testing.T) {
	broker, producer := newBroker(t)
	client, _ := newIngestServer(t, producer)
	for _, c := range []struct {
		name    string
		events  []*ingestv1.Event
		message string
	}{
		{"nothing", nil, "events is empty"},
		{"too many", slices.Repeat([]*ingestv1.Event{posted("c", "m")}, 1001), "events has more than 1000 events, which is the limit"},
		{"an empty event", []*ingestv1.Event{posted("c", "m"), {}}, "events[1]: none of message, read and delivery is set"},
		{"no kind", []*ingestv1.Event{{Event: &ingestv1.Event_Read{Read: &eventsv1.ReadEvent{ChannelId: "c", UserId: "u"}}}}, "events[0]: bad event: no_kind"},
		{"no channel", []*ingestv1.Event{posted("c", "m"), posted("", "m")}, "events[1]: bad event: invalid_id: channel_id: missing"},
		{"an oversized id", []*ingestv1.Event{posted("c", strings.Repeat("m", 256))}, "events[0]: bad event: invalid_id: message_posted.message_id"},
		{"seq 0", []*ingestv1.Event{readUpTo("c", "u", 0)}, "events[0]: bad event: zero_seq"},
		{"an event beyond the batch", []*ingestv1.Event{{Event: &ingestv1.Event_Message{Message: &eventsv1.MessageEvent{
			ChannelId: "c", Kind: &eventsv1.MessageEvent_MembersJoined{MembersJoined: &eventsv1.MembersJoined{
				UserIds: slices.Repeat([]string{strings.Repeat("u", 250)}, 5000),
			}},
		}}}}, "the limit is 998988"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := client.Publish(t.Context(), connect.NewRequest(&ingestv1.PublishRequest{Events: c.events}))
			if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), c.message) {
				t.Errorf("got %v, want invalid_argument … %s", err, c.message)
			}
		})
	}
	for _, topic := range events.InputTopics {
		for p := range int32(ingestPartitions) {
			if info := broker.PartitionInfo(topic, p); info.HighWatermark != 0 {
				t.Errorf("a refused call wrote to %s/%d", topic, p)
			}
		}
	}
}

func TestPublishSaysWhatFailed(t *testing.T) {
	broker, producer := newBroker(t)
	client, _ := newIngestServer(t, producer)
	var fail atomic.Int32
	broker.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		broker.KeepControl()
		res := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, t := range req.(*kmsg.ProduceRequest).Topics {
			rt := kmsg.NewProduceResponseTopic()
			rt.Topic, rt.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				rp := kmsg.NewProduceResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, int16(fail.Load())
				rt.Partitions = append(rt.Partitions, rp)
			}
			res.Topics = append(res.Topics, rt)
		}
		return res, nil, true
	})
	for _, c := range []struct {
		fails   *kerr.Error
		code    connect.Code
		message string
	}{
		{kerr.TopicAuthorizationFailed, connect.CodeUnavailable, "2 of 2 events were not acknowledged, the first is events[0] to chat.messages"},
		{kerr.MessageTooLarge, connect.CodeInvalidArgument, "max.message.bytes"},
	} {
		fail.Store(int32(c.fails.Code))
		_, err := client.Publish(t.Context(), connect.NewRequest(&ingestv1.PublishRequest{
			Events: []*ingestv1.Event{posted("c", "m1"), posted("c", "m2")},
		}))
		if connect.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%v: got %v, want %v … %s", c.fails, err, c.code, c.message)
		}
	}
}
