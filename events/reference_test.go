package events_test

import (
	"encoding/json"
	"math"
	"unicode"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	pb "github.com/tidemark/tidemark/events/eventsv1"
)

// The reference decoder: generated code, then the rules of DESIGN §3 in the plainest form. It is what the hand-written
// decoder is compared with. An empty reason means that the event is good.

// reference carries what the rules need; the first broken rule stays.
type reference struct {
	record   int64
	replaced bool
	reason   events.Reason
}

func newReference(record int64) *reference { return &reference{record: max(record, 0)} }

func (r *reference) broken(reason events.Reason) {
	if r.reason == "" {
		r.reason = reason
	}
}

// unmarshal is the part that all events share, up to the fields.
func (r *reference) unmarshal(value []byte, m proto.Message) {
	switch {
	case len(value) == 0:
		r.broken(events.ReasonEmptyValue)
		return
	case len(value) > events.MaxValueBytes:
		r.broken(events.ReasonTooLarge)
		return
	}
	var err error
	if value[0] == '{' {
		if err = (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(value, m); err != nil {
			var v map[string]any
			if json.Unmarshal(value, &v) == nil && (newer(v["min_version"]) || newer(v["minVersion"])) {
				r.broken(events.ReasonNewerVersion)
			}
		}
	} else if err = proto.Unmarshal(value, m); err != nil && topLevelVersion(value) > events.Version {
		r.broken(events.ReasonNewerVersion)
	}
	if err != nil {
		r.broken(events.ReasonUndecodable)
		return
	}
	if m.(interface{ GetMinVersion() uint32 }).GetMinVersion() > events.Version {
		r.broken(events.ReasonNewerVersion)
	}
	kind := m.ProtoReflect().Descriptor().Oneofs().ByName("kind")
	if m.ProtoReflect().WhichOneof(kind) == nil {
		r.broken(events.ReasonNoKind)
	}
}

// newer judges a min_version in JSON that does not fit the schema.
func newer(v any) bool {
	if s, ok := v.(string); ok {
		if json.Unmarshal([]byte(s), &v) != nil {
			return false
		}
	}
	f, ok := v.(float64)
	return ok && f > events.Version && f <= math.MaxUint32 && f == math.Trunc(f)
}

func topLevelVersion(b []byte) (v uint32) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 || num > protowire.MaxValidNumber { // ConsumeTag allows more, messages do not
			return 0
		}
		b = b[n:]
		if num == 9 && typ == protowire.VarintType {
			u, _ := protowire.ConsumeVarint(b)
			v = uint32(u)
		}
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return 0
		}
		b = b[n:]
	}
	return v
}

func (r *reference) id(s string) []byte {
	ok := len(s) >= 1 && len(s) <= 255
	for _, c := range s {
		ok = ok && !unicode.IsControl(c)
	}
	if !ok {
		r.broken(events.ReasonInvalidID)
	}
	return []byte(s)
}

func (r *reference) optionalID(s string) []byte {
	if s == "" {
		return nil
	}
	return r.id(s)
}

func (r *reference) ids(list []string) (out [][]byte) {
	for _, s := range list {
		out = append(out, r.id(s))
	}
	return out
}

func (r *reference) someIDs(list []string) [][]byte {
	if len(list) == 0 {
		r.broken(events.ReasonNoTarget)
	}
	return r.ids(list)
}

func (r *reference) seq(n uint32) uint32 {
	if n == 0 {
		r.broken(events.ReasonZeroSeq)
	}
	return n
}

func (r *reference) time(t *timestamppb.Timestamp) int64 {
	if t == nil {
		return r.record
	}
	if !t.IsValid() || t.Seconds < 0 {
		r.broken(events.ReasonInvalidTime)
		return 0
	}
	ms := t.AsTime().UnixMilli()
	if ms > r.record+5*60*1000 {
		r.replaced = true
		return r.record
	}
	return ms
}

func (r *reference) preview(s string) []byte {
	if runes := []rune(s); len(runes) > 140 {
		return []byte(string(runes[:140]))
	}
	return []byte(s)
}

func referenceMessage(value []byte, record int64) (m events.Message, reason events.Reason) {
	r, e := newReference(record), new(pb.MessageEvent)
	if r.unmarshal(value, e); r.reason != "" {
		return m, r.reason
	}
	m.ChannelID = r.id(e.ChannelId)
	m.OccurredAt = r.time(e.OccurredAt)
	switch k := e.Kind.(type) {
	case *pb.MessageEvent_MessagePosted:
		p := k.MessagePosted
		m.Kind, m.MessageID, m.Preview = events.KindMessagePosted, r.id(p.MessageId), r.preview(p.Preview)
		if m.SenderID = r.optionalID(p.SenderId); p.SenderId == "" && !p.Silent {
			r.broken(events.ReasonInvalidID)
		}
		m.ThreadID, m.IDs = r.optionalID(p.ThreadId), r.ids(p.Mentions)
		m.Broadcast, m.Silent, m.MentionAll, m.MemberCount = p.Broadcast, p.Silent, p.MentionAll, p.MemberCount
	case *pb.MessageEvent_MessageEdited:
		p := k.MessageEdited
		m.Kind, m.MessageID, m.Preview = events.KindMessageEdited, r.id(p.MessageId), r.preview(p.Preview)
		m.IDs, m.MentionAll, m.KeepMentions = r.ids(p.Mentions), p.MentionAll, p.KeepMentions
	case *pb.MessageEvent_MessageDeleted:
		m.Kind, m.MessageID, m.Seq = events.KindMessageDeleted, r.id(k.MessageDeleted.MessageId), k.MessageDeleted.Seq
	case *pb.MessageEvent_MessagesPurged:
		m.Kind = events.KindMessagesPurged
		switch t := k.MessagesPurged.Target.(type) {
		case *pb.MessagesPurged_UpToMessageId:
			m.Target, m.MessageID = events.TargetMessageID, r.id(t.UpToMessageId)
		case *pb.MessagesPurged_UpToSeq:
			m.Target, m.Seq = events.TargetSeq, r.seq(t.UpToSeq)
		case *pb.MessagesPurged_UpToTime:
			m.Target, m.TargetTime = events.TargetTime, r.time(t.UpToTime)
		default:
			r.broken(events.ReasonNoTarget)
		}
	case *pb.MessageEvent_MembersJoined:
		m.Kind, m.IDs = events.KindMembersJoined, r.someIDs(k.MembersJoined.UserIds)
		m.CountHistory = k.MembersJoined.CountHistory
	case *pb.MessageEvent_MembersLeft:
		m.Kind, m.IDs = events.KindMembersLeft, r.someIDs(k.MembersLeft.UserIds)
	case *pb.MessageEvent_ChannelDeleted:
		m.Kind = events.KindChannelDeleted
	}
	m.ClockReplaced = r.replaced
	return m, r.reason
}

func referenceRead(value []byte, record int64) (m events.Read, reason events.Reason) {
	r, e := newReference(record), new(pb.ReadEvent)
	if r.unmarshal(value, e); r.reason != "" {
		return m, r.reason
	}
	m.ChannelID, m.UserID, m.InstanceID = r.id(e.ChannelId), r.id(e.UserId), r.optionalID(e.InstanceId)
	m.OccurredAt = r.time(e.OccurredAt)
	switch k := e.Kind.(type) {
	case *pb.ReadEvent_ReadUpTo:
		p := k.ReadUpTo
		m.Kind = events.KindReadUpTo
		switch t := p.Target.(type) {
		case *pb.ReadUpTo_MessageId:
			m.Target, m.MessageID = events.TargetMessageID, r.id(t.MessageId)
		case *pb.ReadUpTo_Seq:
			m.Target, m.Seq = events.TargetSeq, r.seq(t.Seq)
		case *pb.ReadUpTo_Time:
			m.Target, m.TargetTime = events.TargetTime, r.time(t.Time)
		default:
			r.broken(events.ReasonNoTarget)
		}
		m.ThreadID, m.ReadEpoch, m.Private = r.optionalID(p.ThreadId), p.ReadEpoch, p.Private
	case *pb.ReadEvent_MessagesRead:
		p := k.MessagesRead
		m.Kind, m.IDs = events.KindMessagesRead, r.someIDs(p.MessageIds)
		m.ThreadID, m.ReadEpoch, m.Private = r.optionalID(p.ThreadId), p.ReadEpoch, p.Private
	case *pb.ReadEvent_MarkedUnread:
		p := k.MarkedUnread
		m.Kind, m.MessageID, m.ThreadID = events.KindMarkedUnread, r.id(p.MessageId), r.optionalID(p.ThreadId)
		m.HeadMessageID, m.HeadSeq = r.optionalID(p.HeadMessageId), p.HeadSeq
	case *pb.ReadEvent_ThreadFollowed:
		m.Kind, m.ThreadID = events.KindThreadFollowed, r.id(k.ThreadFollowed.ThreadId)
	case *pb.ReadEvent_ThreadUnfollowed:
		m.Kind, m.ThreadID = events.KindThreadUnfollowed, r.id(k.ThreadUnfollowed.ThreadId)
	case *pb.ReadEvent_ChannelMuted:
		m.Kind, m.Muted = events.KindChannelMuted, k.ChannelMuted.Muted
	case *pb.ReadEvent_UserErased:
		m.Kind = events.KindUserErased
	}
	m.ClockReplaced = r.replaced
	return m, r.reason
}

func referenceDelivery(value []byte, record int64) (m events.Delivery, reason events.Reason) {
	r, e := newReference(record), new(pb.DeliveryEvent)
	if r.unmarshal(value, e); r.reason != "" {
		return m, r.reason
	}
	m.ChannelID, m.UserID = r.id(e.ChannelId), r.id(e.UserId)
	m.OccurredAt = r.time(e.OccurredAt)
	switch k := e.Kind.(type) {
	case *pb.DeliveryEvent_Delivered:
		m.Kind = events.KindDelivered
		switch t := k.Delivered.Target.(type) {
		case *pb.Delivered_MessageId:
			m.MessageID = r.id(t.MessageId)
		case *pb.Delivered_UpToMessageId:
			m.UpToID = r.id(t.UpToMessageId)
		default:
			r.broken(events.ReasonNoTarget)
		}
		m.DeviceID = r.optionalID(k.Delivered.DeviceId)
	case *pb.DeliveryEvent_Queued:
		m.Kind, m.MessageID = events.KindQueued, r.id(k.Queued.MessageId)
	}
	m.ClockReplaced = r.replaced
	return m, r.reason
}
