package events_test

import (
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	pb "github.com/tidemark/tidemark/events/eventsv1"
)

// Ids of 26 characters, as most products have them.
const (
	idA = "01JA3M9ZC0QK2V5T7W8X9Y0ZAA"
	idB = "01JA3M9ZC0QK2V5T7W8X9Y0ZAB"
	idC = "01JA3M9ZC0QK2V5T7W8X9Y0ZAC"
)

func benchRead() *pb.ReadEvent {
	e := read(&pb.ReadUpTo{Target: &pb.ReadUpTo_MessageId{MessageId: idC}, ReadEpoch: 1})
	e.ChannelId, e.UserId = idA, idB
	return e
}

func benchMessage() *pb.MessageEvent {
	e := message(&pb.MessagePosted{MessageId: idC, SenderId: idB, Preview: "shall we meet at ten, or is eleven better?"})
	e.ChannelId = idA
	return e
}

func benchDelivery() *pb.DeliveryEvent {
	e := delivery(&pb.Delivered{Target: &pb.Delivered_UpToMessageId{UpToMessageId: idC}})
	e.ChannelId, e.UserId = idA, idB
	return e
}

func mustMarshal(tb testing.TB, m proto.Message) []byte {
	tb.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func benchmarkDecode[E any](b *testing.B, value []byte, decode func([]byte, int64, *E) error) {
	b.Helper()
	b.ReportAllocs()
	b.SetBytes(int64(len(value)))
	var e E
	for b.Loop() {
		if err := decode(value, record, &e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeRead(b *testing.B) {
	benchmarkDecode(b, mustMarshal(b, benchRead()), new(events.Decoder).Read)
}

func BenchmarkDecodeMessage(b *testing.B) {
	benchmarkDecode(b, mustMarshal(b, benchMessage()), new(events.Decoder).Message)
}

func BenchmarkDecodeDelivery(b *testing.B) {
	benchmarkDecode(b, mustMarshal(b, benchDelivery()), new(events.Decoder).Delivery)
}

func BenchmarkDecodeReadJSON(b *testing.B) {
	value, err := protojson.Marshal(benchRead())
	if err != nil {
		b.Fatal(err)
	}
	benchmarkDecode(b, value, new(events.Decoder).Read)
}

// BenchmarkDecodeReadGenerated measures the generated code on the same values, without validation.
func BenchmarkDecodeReadGenerated(b *testing.B) {
	benchmarkDecode(b, mustMarshal(b, benchRead()), func(value []byte, _ int64, _ *struct{}) error {
		return proto.Unmarshal(value, new(pb.ReadEvent))
	})
}

func benchDelta() *events.UnreadDelta {
	return &events.UnreadDelta{
		UserID: []byte(idB), ChannelID: []byte(idA), Member: true, Unread: 3, Mentions: 1,
		FirstUnread: events.Ref{MessageID: []byte(idC), Seq: 120}, LastRead: events.Ref{MessageID: []byte(idB), Seq: 119},
		LastReadAt: record,
		Latest:     events.Head{MessageID: []byte(idC), Seq: 122, Pos: 120, At: record, SenderID: []byte(idA), Preview: []byte("shall we meet?")},
		ReadEpoch:  1, Stamp: events.Stamp{FoldVersion: 1, M: 1 << 30, R: 1 << 33, D: 1 << 32}, ReadPos: 117,
	}
}

func BenchmarkAppendUnreadDelta(b *testing.B) {
	d := benchDelta()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = events.AppendUnreadDelta(buf[:0], d)
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkDecodeUnreadDelta(b *testing.B) {
	value := events.AppendUnreadDelta(nil, benchDelta())
	b.ReportAllocs()
	b.SetBytes(int64(len(value)))
	var d events.UnreadDelta
	for b.Loop() {
		if err := events.DecodeUnreadDelta(value, &d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPartitionOf(b *testing.B) {
	key := []byte(idA)
	b.ReportAllocs()
	for b.Loop() {
		events.PartitionOf(key, 64)
	}
}
