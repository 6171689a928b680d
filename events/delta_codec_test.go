package events_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	pb "github.com/tidemark/tidemark/events/eventsv1"
)

func pbTime(ms int64) *timestamppb.Timestamp {
	return &timestamppb.Timestamp{Seconds: ms / 1000, Nanos: int32(ms%1000) * 1_000_000}
}

func pbRef(r events.Ref) *pb.MessageRef {
	if r.IsZero() {
		return nil
	}
	return &pb.MessageRef{MessageId: string(r.MessageID), Seq: r.Seq}
}

func pbHead(h events.Head) *pb.Head {
	if h.IsZero() {
		return nil
	}
	return &pb.Head{MessageId: string(h.MessageID), Seq: h.Seq, At: pbTime(h.At), SenderId: string(h.SenderID),
		Preview: string(h.Preview), Pos: h.Pos}
}

func pbStamp(s events.Stamp) *pb.Stamp {
	if s == (events.Stamp{}) {
		return nil
	}
	return &pb.Stamp{FoldVersion: s.FoldVersion, M: s.M, R: s.R, D: s.D}
}

func strs(list [][]byte) (out []string) {
	for _, s := range list {
		out = append(out, string(s))
	}
	return out
}

func pbDelta(d *events.UnreadDelta) *pb.UnreadDelta {
	p := &pb.UnreadDelta{
		UserId: string(d.UserID), ChannelId: string(d.ChannelID), ThreadId: string(d.ThreadID), Member: d.Member,
		Unread: d.Unread, Mentions: d.Mentions, OfflineUnread: d.OfflineUnread,
		FirstUnread: pbRef(d.FirstUnread), LastRead: pbRef(d.LastRead), Latest: pbHead(d.Latest),
		Large: d.Large, Muted: d.Muted, ReadEpoch: d.ReadEpoch, Stamp: pbStamp(d.Stamp), InstanceId: string(d.InstanceID),
		ReadPos: d.ReadPos, Excluded: d.Excluded, Mentioned: d.Mentioned,
		DirectMentions: d.DirectMentions, FirstMention: pbRef(d.FirstMention), Level: uint32(d.Level), LevelAfter: uint32(d.LevelAfter),
		IgnoreMentionAll: d.IgnoreAll, Flagged: d.Flagged, Ask: d.Ask, Line: pbRef(d.Line), Labels: strs(d.Labels),
	}
	if d.Filed.Is {
		p.Filed = &pb.Filed{Keep: d.Filed.Keep, Pos: d.Filed.Pos}
	}
	if d.Until > 0 {
		p.Until = pbTime(d.Until)
	}
	if d.LastRead.Seq > 0 {
		if d.LastReadAt != 0 {
			p.LastReadAt = pbTime(d.LastReadAt)
		}
	}
	if d.TouchedAt > 0 {
		p.TouchedAt = pbTime(d.TouchedAt)
	}
	return p
}

// random draws values of all lengths of a varint, and zeros.
type random struct{ *rand.Rand }

func newRandom(t *testing.T) random {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return random{rand.New(rand.NewPCG(seed, 0))}
}

func (r random) bool() bool     { return r.IntN(2) == 0 }
func (r random) uint32() uint32 { return uint32(r.Uint64()) >> r.IntN(33) }
func (r random) int64() int64   { return int64(r.Uint64() >> (1 + r.IntN(63))) }
func (r random) millis() int64  { return r.Int64N(253402300800_000) >> r.IntN(48) }

func (r random) text(most int) []byte {
	if r.IntN(3) == 0 {
		return nil
	}
	return bytes.Repeat([]byte("é"), r.IntN(most/2+1))
}

func (r random) list() (out []uint32) {
	if r.bool() {
		for range r.IntN(50) {
			out = append(out, r.uint32())
		}
	}
	return out
}

func (r random) texts() (out [][]byte) {
	if r.IntN(3) == 0 {
		for range r.IntN(16) {
			out = append(out, r.text(128))
		}
	}
	return out
}

func (r random) level() events.Level { return events.Level(r.IntN(3)) }

func (r random) filed() events.Filed {
	if r.bool() {
		return events.Filed{}
	}
	return events.Filed{Is: true, Keep: r.bool(), Pos: r.uint32()}
}

func (r random) ref() events.Ref {
	if r.IntN(3) == 0 {
		return events.Ref{}
	}
	return events.Ref{MessageID: r.text(255), Seq: r.uint32()}
}

func (r random) head() events.Head {
	if r.IntN(3) == 0 {
		return events.Head{}
	}
	return events.Head{MessageID: r.text(255), Seq: 1 + r.uint32()>>1, Pos: r.uint32(), At: r.millis(), SenderID: r.text(255),
		Preview: r.text(560)}
}

func (r random) stamp() events.Stamp {
	if r.IntN(4) == 0 {
		return events.Stamp{}
	}
	return events.Stamp{FoldVersion: r.uint32(), M: r.int64(), R: r.int64(), D: r.int64()}
}

func (r random) delta() *events.UnreadDelta {
	d := &events.UnreadDelta{
		UserID: r.text(255), ChannelID: r.text(255), ThreadID: r.text(255), Member: r.bool(),
		Unread: r.uint32(), Mentions: r.uint32(), OfflineUnread: r.uint32(), FirstUnread: r.ref(), LastRead: r.ref(),
		Latest: r.head(), Large: r.bool(), Muted: r.bool(), ReadEpoch: r.uint32(), Stamp: r.stamp(),
		InstanceID: r.text(255), ReadPos: r.uint32(), Excluded: r.list(), Mentioned: r.list(),
	}
	if d.LastRead.Seq > 0 {
		d.LastReadAt = r.millis()
	}
	if r.bool() {
		d.TouchedAt = r.millis()
	}
	if r.bool() {
		d.DirectMentions, d.FirstMention, d.Level, d.LevelAfter = r.uint32(), r.ref(), r.level(), r.level()
		d.IgnoreAll, d.Flagged, d.Ask, d.Until = r.bool(), r.bool(), r.bool(), r.millis()
		d.Filed, d.Line, d.Labels = r.filed(), r.ref(), r.texts()
	}
	return d
}

// The encoder writes the bytes that the generated code writes, and both decoders read them.
func TestUnreadDelta(t *testing.T) {
	r := newRandom(t)
	var got events.UnreadDelta
	for range 5_000 {
		d := r.delta()
		value := events.AppendUnreadDelta([]byte("before"), d)[len("before"):]
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(pbDelta(d))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(value, want) {
			t.Fatalf("%+v:\ngot  %x\nwant %x", d, value, want)
		}
		if err := events.DecodeUnreadDelta(value, &got); err != nil {
			t.Fatal(err)
		}
		if equal(t, got, *d); t.Failed() {
			t.Fatalf("%+v", d)
		}
	}
}

// Deltas of fold version 1 have touched_at as field 20, which is direct_mentions in later ones. The
// compacted topic keeps them until the pair changes.
func TestTouchedAtOfBefore(t *testing.T) {
	value := events.AppendUnreadDelta(nil, &events.UnreadDelta{UserID: []byte("u1"), Unread: 3})
	value = protowire.AppendTag(value, 20, protowire.BytesType)
	value = protowire.AppendBytes(value, mustMarshal(t, pbTime(record)))
	var d events.UnreadDelta
	if err := events.DecodeUnreadDelta(value, &d); err != nil || d.TouchedAt != record || d.DirectMentions != 0 {
		t.Errorf("%v, touched at %d, %d direct mentions", err, d.TouchedAt, d.DirectMentions)
	}
}

func TestUnreadDeltaAllocations(t *testing.T) {
	d := benchDelta()
	d.Excluded, d.Mentioned = []uint32{1, 200, 30000}, []uint32{4}
	buf := events.AppendUnreadDelta(nil, d)
	var got events.UnreadDelta
	var err error
	if n := testing.AllocsPerRun(100, func() {
		buf = events.AppendUnreadDelta(buf[:0], d)
		err = events.DecodeUnreadDelta(buf, &got)
	}); n != 0 || err != nil {
		t.Errorf("%v allocations, error %v", n, err)
	}
}

func TestDecodeUnreadDeltaRefused(t *testing.T) {
	var d events.UnreadDelta
	value := events.AppendUnreadDelta(nil, benchDelta())
	if err := events.DecodeUnreadDelta(value[:len(value)-1], &d); events.ReasonOf(err) != events.ReasonUndecodable {
		t.Errorf("cut: got %v", err)
	}
	value = mustMarshal(t, &pb.UnreadDelta{LastReadAt: &timestamppb.Timestamp{Seconds: -1}})
	if err := events.DecodeUnreadDelta(value, &d); events.ReasonOf(err) != events.ReasonInvalidTime {
		t.Errorf("before 1970: got %v", err)
	}
	value = mustMarshal(t, &pb.UnreadDelta{Latest: &pb.Head{At: &timestamppb.Timestamp{Nanos: -1}}})
	if err := events.DecodeUnreadDelta(value, &d); events.ReasonOf(err) != events.ReasonInvalidTime {
		t.Errorf("negative nanoseconds: got %v", err)
	}
	if err := events.DecodeUnreadDelta(nil, &d); err != nil || d.Member {
		t.Errorf("empty: got %v, %+v", err, d)
	}
}

func FuzzUnreadDelta(f *testing.F) {
	f.Add(events.AppendUnreadDelta(nil, benchDelta()))
	f.Add([]byte("\x90\x01\x05\x92\x01\x02\x01\x02\x90\x01\x07")) // a list both packed and not
	f.Add([]byte("\x92\x01\x01\xff"))
	f.Add([]byte("\x5a\x04\x1a\x02\x08\x01\x5a\x05\x1a\x03\x10\xff\x01")) // a time in two parts
	var got events.UnreadDelta
	f.Fuzz(func(t *testing.T, value []byte) {
		err := events.DecodeUnreadDelta(value, &got)
		var p pb.UnreadDelta
		ok := proto.Unmarshal(value, &p) == nil
		if len(p.ProtoReflect().GetUnknown()) > 0 && bytes.Contains(p.ProtoReflect().GetUnknown(), []byte{0xa2, 0x01}) {
			return // touched_at as in fold version 1: TestTouchedAtOfBefore
		}
		if !ok || !goodTime(p.LastReadAt) || !goodTime(p.Latest.GetAt()) || !goodTime(p.TouchedAt) || !goodTime(p.Until) {
			if err == nil {
				t.Fatalf("%q was accepted", value)
			}
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", value, err)
		}
		equal(t, got, events.UnreadDelta{
			UserID: []byte(p.UserId), ChannelID: []byte(p.ChannelId), ThreadID: []byte(p.ThreadId), Member: p.Member,
			Unread: p.Unread, Mentions: p.Mentions, OfflineUnread: p.OfflineUnread,
			FirstUnread: fromRef(p.FirstUnread), LastRead: fromRef(p.LastRead), LastReadAt: fromTime(p.LastReadAt),
			Latest: fromHead(p.Latest), Large: p.Large, Muted: p.Muted, ReadEpoch: p.ReadEpoch, Stamp: fromStamp(p.Stamp),
			InstanceID: []byte(p.InstanceId), ReadPos: p.ReadPos, Excluded: p.Excluded, Mentioned: p.Mentioned,
			TouchedAt: fromTime(p.TouchedAt), Until: fromTime(p.Until),
			DirectMentions: p.DirectMentions, FirstMention: fromRef(p.FirstMention), Level: fromLevel(p.Level), LevelAfter: fromLevel(p.LevelAfter),
			IgnoreAll: p.IgnoreMentionAll, Flagged: p.Flagged, Ask: p.Ask, Line: fromRef(p.Line), Labels: texts(p.Labels...),
			Filed: events.Filed{Is: p.Filed != nil, Keep: p.Filed.GetKeep(), Pos: p.Filed.GetPos()},
		})
	})
}

func fromLevel(level uint32) events.Level { return events.Level(min(level, uint32(events.NumLevels))) }

func goodTime(t *timestamppb.Timestamp) bool { return t == nil || t.IsValid() && t.Seconds >= 0 }

func fromTime(t *timestamppb.Timestamp) int64 {
	if t == nil {
		return 0
	}
	return t.AsTime().UnixMilli()
}

func fromRef(r *pb.MessageRef) events.Ref {
	return events.Ref{MessageID: []byte(r.GetMessageId()), Seq: r.GetSeq()}
}

func fromHead(h *pb.Head) events.Head {
	return events.Head{MessageID: []byte(h.GetMessageId()), Seq: h.GetSeq(), Pos: h.GetPos(), At: fromTime(h.GetAt()),
		SenderID: []byte(h.GetSenderId()), Preview: []byte(h.GetPreview())}
}

func fromStamp(s *pb.Stamp) events.Stamp {
	return events.Stamp{FoldVersion: s.GetFoldVersion(), M: s.GetM(), R: s.GetR(), D: s.GetD()}
}
