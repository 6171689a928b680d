package events_test

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	pb "github.com/tidemark/tidemark/events/eventsv1"
)

func (r random) channel() *events.ChannelRecord {
	return &events.ChannelRecord{
		ChannelID: r.text(255), Latest: r.head(), HeadSeq: r.uint32(), HeadPos: r.uint32(), MemberCount: r.uint32(),
		Holes: r.list(), HolesFloor: r.uint32(), Alls: r.list(), AllsFloor: r.uint32(), PurgedPos: r.uint32(),
		Large: r.bool(), Deleted: r.bool(), Stamp: r.stamp(), Labels: r.texts(), Archived: r.bool(),
	}
}

func pbChannel(c *events.ChannelRecord) *pb.ChannelRecord {
	return &pb.ChannelRecord{
		ChannelId: string(c.ChannelID), Latest: pbHead(c.Latest), HeadSeq: c.HeadSeq, HeadPos: c.HeadPos,
		MemberCount: c.MemberCount, Holes: c.Holes, HolesFloor: c.HolesFloor, Alls: c.Alls, AllsFloor: c.AllsFloor,
		PurgedPos: c.PurgedPos, Large: c.Large, Deleted: c.Deleted, Stamp: pbStamp(c.Stamp),
		Labels: strs(c.Labels), Archived: c.Archived,
	}
}

func TestChannelRecord(t *testing.T) {
	r := newRandom(t)
	var got events.ChannelRecord
	for range 5_000 {
		c := r.channel()
		value := events.AppendChannelRecord([]byte("before"), c)[len("before"):]
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(pbChannel(c))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(value, want) {
			t.Fatalf("%+v:\ngot  %x\nwant %x", c, value, want)
		}
		if err := events.DecodeChannelRecord(value, &got); err != nil {
			t.Fatal(err)
		}
		if equal(t, got, *c); t.Failed() {
			t.Fatalf("%+v", c)
		}
	}
}

func TestDecodeChannelRecordRefused(t *testing.T) {
	var c events.ChannelRecord
	if err := events.DecodeChannelRecord([]byte("\x0a\x05c"), &c); events.ReasonOf(err) != events.ReasonUndecodable {
		t.Errorf("cut: got %v", err)
	}
	value := mustMarshal(t, &pb.ChannelRecord{Latest: &pb.Head{At: &timestamppb.Timestamp{Seconds: 1 << 60}}})
	if err := events.DecodeChannelRecord(value, &c); events.ReasonOf(err) != events.ReasonInvalidTime {
		t.Errorf("after 9999: got %v", err)
	}
}

func FuzzChannelRecord(f *testing.F) {
	f.Add(events.AppendChannelRecord(nil, &events.ChannelRecord{ChannelID: []byte("c1"), Latest: benchDelta().Latest,
		Holes: []uint32{1, 300}, Alls: []uint32{7}, Stamp: events.Stamp{FoldVersion: 1, M: 5}}))
	f.Add([]byte("\x30\x05\x32\x02\x01\x02\x40\x07"))
	var got events.ChannelRecord
	f.Fuzz(func(t *testing.T, value []byte) {
		err := events.DecodeChannelRecord(value, &got)
		var p pb.ChannelRecord
		if proto.Unmarshal(value, &p) != nil || !goodTime(p.Latest.GetAt()) {
			if err == nil {
				t.Fatalf("%q was accepted", value)
			}
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", value, err)
		}
		equal(t, got, events.ChannelRecord{
			ChannelID: []byte(p.ChannelId), Latest: fromHead(p.Latest), HeadSeq: p.HeadSeq, HeadPos: p.HeadPos,
			MemberCount: p.MemberCount, Holes: p.Holes, HolesFloor: p.HolesFloor, Alls: p.Alls, AllsFloor: p.AllsFloor,
			PurgedPos: p.PurgedPos, Large: p.Large, Deleted: p.Deleted, Stamp: fromStamp(p.Stamp),
			Labels: texts(p.Labels...), Archived: p.Archived,
		})
	})
}
