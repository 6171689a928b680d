package checker

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/projections"
)

// Log is the content of the input topics, with the models of their partitions.
type Log struct {
	Users   []string    // all users that any record names, sorted
	Bad     []BadRecord // records that must be among the dead letters
	After   []string    // tokens of the last records, for After of queries
	Records int

	settings projections.Settings
	models   []*model.Model // by partition
	now      int64          // time of the last record
	logs     map[string]*channelLog
}

// channelLog is what the log contains about one channel.
type channelLog struct {
	messages   []messageAt
	reads      []readAt
	deliveries []deliveryAt
}

type (
	messageAt struct {
		event     events.Message
		offset    int64
		timestamp int64
		logTime   int64 // of its topic and partition, including this record
	}
	readAt struct {
		event     events.Read
		offset    int64
		timestamp int64
		logTime   int64
	}
	deliveryAt struct {
		event     events.Delivery
		offset    int64
		timestamp int64
		logTime   int64
	}
)

// BadRecord is a record of an input topic that must be among the dead letters.
type BadRecord struct {
	*kgo.Record
	Reason events.Reason
}

// NewLog takes the records of all partitions of the input topics. The records of one topic and
// partition must be in the order of their offsets.
func NewLog(s projections.Settings, partitions int32, records []*kgo.Record) *Log {
	l := &Log{settings: s, logs: map[string]*channelLog{}, Records: len(records)}
	for range partitions {
		l.models = append(l.models, model.New(s))
	}
	last := map[string]int64{}
	for _, r := range records {
		last[fmt.Sprintf("%s/%d", r.Topic, r.Partition)] = r.Offset
		l.now = max(l.now, r.Timestamp.UnixMilli())
		if err := l.add(r, partitions); err != nil {
			l.Bad = append(l.Bad, BadRecord{r, events.ReasonOf(err)})
		}
	}
	for at, offset := range last {
		l.After = append(l.After, fmt.Sprintf("%s/%d", at, offset))
	}
	for _, m := range l.models {
		l.Users = append(l.Users, m.Users()...)
	}
	slices.Sort(l.Users)
	l.Users = slices.Compact(l.Users)
	return l
}

// add takes a record, or returns why the record is bad. Each record has its own decoder and event,
// because a decoded event borrows the decoder's memory.
func (l *Log) add(r *kgo.Record, partitions int32) error {
	var d events.Decoder
	ms := r.Timestamp.UnixMilli()
	m := l.models[r.Partition]
	switch r.Topic {
	case events.TopicMessages:
		e := messageAt{offset: r.Offset, timestamp: ms}
		if err := d.Message(r.Value, ms, &e.event); err != nil {
			return err
		}
		if err := events.CheckPartition(e.event.ChannelID, r.Partition, partitions); err != nil {
			return err
		}
		e.logTime = m.Pass(events.Messages, e.event.OccurredAt)
		m.AddMessage(&e.event, e.offset, ms)
		log := l.logOf(e.event.ChannelID)
		log.messages = append(log.messages, e)
	case events.TopicReads:
		e := readAt{offset: r.Offset, timestamp: ms}
		if err := d.Read(r.Value, ms, &e.event); err != nil {
			return err
		}
		if err := events.CheckPartition(e.event.ChannelID, r.Partition, partitions); err != nil {
			return err
		}
		e.logTime = m.Pass(events.Reads, e.event.OccurredAt)
		m.AddRead(&e.event, e.offset, ms)
		log := l.logOf(e.event.ChannelID)
		log.reads = append(log.reads, e)
	default:
		e := deliveryAt{offset: r.Offset, timestamp: ms}
		if err := d.Delivery(r.Value, ms, &e.event); err != nil {
			return err
		}
		if err := events.CheckPartition(e.event.ChannelID, r.Partition, partitions); err != nil {
			return err
		}
		e.logTime = m.Pass(events.Deliveries, e.event.OccurredAt)
		m.AddDelivery(&e.event, e.offset, ms)
		log := l.logOf(e.event.ChannelID)
		log.deliveries = append(log.deliveries, e)
	}
	return nil
}

func (l *Log) logOf(id []byte) *channelLog {
	log := l.logs[string(id)]
	if log == nil {
		log = &channelLog{}
		l.logs[string(id)] = log
	}
	return log
}

// Channels returns all channels of the log, sorted.
func (l *Log) Channels() []string {
	var ids []string
	for id := range l.logs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Forget excludes a channel from all comparisons.
func (l *Log) Forget(channel string) { delete(l.logs, channel) }

// Model returns the model of a channel's partition.
func (l *Log) Model(channel string) *model.Model {
	return l.models[events.PartitionOf([]byte(channel), int32(len(l.models)))]
}

// View returns a user's view of a channel, and false if there is no such channel.
func (l *Log) View(user, channel string) (projections.View, bool) {
	return l.Model(channel).View(user, channel)
}

// At returns the model of the records on which a delta with this stamp depends: the channel's
// messages and the user's own records before it. A delta is a function of exactly those (DESIGN
// §2), and of the log time at each of them, which other records raise, too.
func (l *Log) At(user, channel string, s events.Stamp) *model.Model {
	m := model.New(l.settings)
	log := l.logs[channel]
	if log == nil {
		return m
	}
	for i := range log.messages {
		if e := &log.messages[i]; e.offset < s.M {
			m.Pass(events.Messages, e.logTime)
			m.AddMessage(&e.event, e.offset, e.timestamp)
		}
	}
	for i := range log.reads {
		if e := &log.reads[i]; e.offset < s.R && string(e.event.UserID) == user {
			m.Pass(events.Reads, e.logTime)
			m.AddRead(&e.event, e.offset, e.timestamp)
		}
	}
	for i := range log.deliveries {
		if e := &log.deliveries[i]; e.offset < s.D && string(e.event.UserID) == user {
			m.Pass(events.Deliveries, e.logTime)
			m.AddDelivery(&e.event, e.offset, e.timestamp)
		}
	}
	return m
}

// memberAt reports whether a user is a member at the i-th event of a channel's timeline.
func (l *Log) memberAt(user, channel string, i int) (member bool) {
	for n := range l.logs[channel].messages[:i] {
		m := &l.logs[channel].messages[n].event
		named := slices.ContainsFunc(m.IDs, func(id []byte) bool { return string(id) == user })
		switch {
		case m.Kind == events.KindMembersJoined && named:
			member = true
		case m.Kind == events.KindMembersLeft && named, m.Kind == events.KindChannelDeleted:
			member = false
		}
	}
	return member
}
