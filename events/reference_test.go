package events_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
	"unicode"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	pb "github.com/tidemark/tidemark/events/eventsv1"
)

// The reference decoder runs generated code, then the rules of DESIGN §3 in their plainest form.
// Tests compare the hand-written decoder with it. An empty reason means that the event is good.

// reference has the input of the rules, and the first broken rule.
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

// unnamedLevel reports whether a notify_set has a level by a name that protojson does not know, and
// leaves out where unknown fields are no error.
func unnamedLevel(value []byte) bool {
	var v map[string]any
	if json.Unmarshal(value, &v) != nil {
		return false
	}
	for _, set := range []any{v["notify_set"], v["notifySet"]} {
		fields, _ := set.(map[string]any)
		if name, ok := fields["level"].(string); ok {
			alone, err := json.Marshal(map[string]string{"level": name})
			return err == nil && protojson.Unmarshal(alone, new(pb.NotifySet)) != nil
		}
	}
	return false
}

// unmarshal does the common part of all events, up to the fields.
func (r *reference) unmarshal(value []byte, m proto.Message) {
	switch {
	case len(value) == 0:
		r.broken(events.ReasonEmptyValue)
		return
	case len(value) > events.MaxValueBytes:
		r.broken(events.ReasonTooLarge)
		return
	}
	value, ok := withoutFrame(value)
	if !ok {
		r.broken(events.ReasonUndecodable)
		return
	}
	var err error
	if len(value) > 0 && value[0] == '{' {
		if err = (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(value, m); err != nil {
			var v map[string]any
			if json.Unmarshal(value, &v) == nil && (newer(v["min_version"]) || newer(v["minVersion"])) {
				r.broken(events.ReasonNewerVersion)
			}
		}
		if e, ok := m.(*pb.ReadEvent); ok && err == nil && e.GetNotifySet() != nil && unnamedLevel(value) {
			e.GetNotifySet().Level = -1
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

// withoutFrame removes the frame of a schema registry, following Confluent's description. ok is
// false if the value begins like a frame and is not one.
func withoutFrame(value []byte) (plain []byte, ok bool) {
	if value[0] != 0 {
		return value, true
	}
	if len(value) < 6 {
		return nil, false
	}
	value = value[5:]
	if value[0] == '{' {
		return value, true
	}
	var count int64 = -1
	for i := int64(-1); i < max(count, 0); i++ {
		v, n := binary.Varint(value) // zigzag
		if n <= 0 || v < 0 || i < 0 && v > 32 {
			return nil, false
		}
		if value = value[n:]; i < 0 {
			count = v
		}
	}
	return value, len(value) == 0 || value[0] != '{' && value[0] != 0
}

// newer reports whether the min_version of JSON that does not fit the schema is a newer one.
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

func (r *reference) idOrSeq(s string, seq uint32) []byte {
	if seq != 0 {
		return r.optionalID(s)
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

func (r *reference) most(n, most int) {
	if n > most {
		r.broken(events.ReasonTooMany)
	}
}

func (r *reference) labels(list []string) (out [][]byte) {
	r.most(len(list), 16)
	for _, s := range list {
		if s == "" || len(s) > 128 || strings.ContainsFunc(s, unicode.IsControl) {
			r.broken(events.ReasonInvalidLabel)
		}
		out = append(out, []byte(s))
	}
	return out
}

func choice(b *bool) events.Choice {
	switch {
	case b == nil:
		return events.NotStated
	case *b:
		return events.Yes
	}
	return events.No
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
		r.most(len(p.HiddenFrom), 1000)
		m.HiddenFrom, m.MarksRead = r.ids(p.HiddenFrom), choice(p.MarksRead)
	case *pb.MessageEvent_MessageEdited:
		p := k.MessageEdited
		m.Kind, m.MessageID, m.Preview = events.KindMessageEdited, r.id(p.MessageId), r.preview(p.Preview)
		m.IDs, m.MentionAll, m.KeepMentions = r.ids(p.Mentions), p.MentionAll, p.KeepMentions
	case *pb.MessageEvent_MessageDeleted:
		p := k.MessageDeleted
		m.Kind, m.MessageID, m.Seq = events.KindMessageDeleted, r.idOrSeq(p.MessageId, p.Seq), p.Seq
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
	case *pb.MessageEvent_MessagesSeeded:
		m.Kind, m.Count = events.KindMessagesSeeded, k.MessagesSeeded.Count
		if m.Count == 0 || m.Count > 1<<31 {
			r.broken(events.ReasonInvalidCount)
		}
	case *pb.MessageEvent_ChannelUpdated:
		m.Kind, m.IDs, m.Archived = events.KindChannelUpdated, r.labels(k.ChannelUpdated.Labels), k.ChannelUpdated.Archived
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
		m.ThreadID, m.ReadEpoch, m.Private, m.WithThreads = r.optionalID(p.ThreadId), p.ReadEpoch, p.Private, p.WithThreads
		if p.WithThreads && p.ThreadId != "" {
			r.broken(events.ReasonInvalidID)
		}
	case *pb.ReadEvent_MessagesRead:
		p := k.MessagesRead
		m.Kind, m.IDs = events.KindMessagesRead, r.someIDs(p.MessageIds)
		m.ThreadID, m.ReadEpoch, m.Private = r.optionalID(p.ThreadId), p.ReadEpoch, p.Private
	case *pb.ReadEvent_MarkedUnread:
		p := k.MarkedUnread
		m.Kind, m.MessageID, m.ThreadID = events.KindMarkedUnread, r.idOrSeq(p.MessageId, p.Seq), r.optionalID(p.ThreadId)
		m.Seq = p.Seq
		m.HeadMessageID, m.HeadSeq = r.optionalID(p.HeadMessageId), p.HeadSeq
	case *pb.ReadEvent_ThreadFollowed:
		m.Kind, m.ThreadID = events.KindThreadFollowed, r.id(k.ThreadFollowed.ThreadId)
	case *pb.ReadEvent_ThreadUnfollowed:
		m.Kind, m.ThreadID = events.KindThreadUnfollowed, r.id(k.ThreadUnfollowed.ThreadId)
	case *pb.ReadEvent_ChannelMuted:
		m.Kind, m.Muted = events.KindChannelMuted, k.ChannelMuted.Muted
	case *pb.ReadEvent_UserErased:
		m.Kind = events.KindUserErased
	case *pb.ReadEvent_NotifySet:
		r.notify(&m, k.NotifySet)
	case *pb.ReadEvent_FlagSet:
		m.Kind, m.Flagged, m.HeadSeq = events.KindFlagSet, k.FlagSet.Flagged, k.FlagSet.HeadSeq
	case *pb.ReadEvent_ChannelFiled:
		p := k.ChannelFiled
		m.Kind, m.Archived, m.Keep, m.HeadSeq = events.KindChannelFiled, p.Archived, p.Keep, p.HeadSeq
	case *pb.ReadEvent_MessagesHidden:
		p := k.MessagesHidden
		if len(p.MessageIds) == 0 && p.UpToSeq == 0 {
			r.broken(events.ReasonNoTarget)
		}
		r.most(len(p.MessageIds), 1000)
		m.Kind, m.IDs, m.Seq = events.KindMessagesHidden, r.ids(p.MessageIds), p.UpToSeq
	case *pb.ReadEvent_LineSet:
		m.Kind = events.KindLineSet
		switch t := k.LineSet.Target.(type) {
		case *pb.LineSet_MessageId:
			m.Target, m.MessageID = events.TargetMessageID, r.id(t.MessageId)
		case *pb.LineSet_Seq:
			m.Target, m.Seq = events.TargetSeq, r.seq(t.Seq)
		default:
			r.broken(events.ReasonNoTarget)
		}
	case *pb.ReadEvent_MessagesViewed:
		m.Kind, m.IDs = events.KindMessagesViewed, r.someIDs(k.MessagesViewed.MessageIds)
		r.most(len(m.IDs), 1000)
	case *pb.ReadEvent_LabelsSet:
		m.Kind, m.IDs = events.KindLabelsSet, r.labels(k.LabelsSet.Labels)
	}
	m.ClockReplaced = r.replaced
	return m, r.reason
}

// notify checks a notify_set. Its until is a future time, so the clock rule does not apply.
func (r *reference) notify(m *events.Read, p *pb.NotifySet) {
	m.Kind, m.IgnoreAll = events.KindNotifySet, choice(p.IgnoreMentionAll)
	if p.Level < 0 || p.Level > 2 {
		r.broken(events.ReasonInvalidLevel)
		return
	}
	m.Level = events.Level(p.Level)
	if p.Until != nil {
		if !p.Until.IsValid() || p.Until.Seconds < 0 {
			r.broken(events.ReasonInvalidTime)
			return
		}
		m.Until = max(1, p.Until.AsTime().UnixMilli())
	}
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
