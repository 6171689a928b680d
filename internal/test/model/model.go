package model

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// Model is the log of one partition. The zero Model is not ready for use; see New. It is not safe
// for concurrent use.
type Model struct {
	settings   projections.Settings
	messages   []messageRecord
	reads      []readRecord
	deliveries []deliveryRecord
	logTimes   [events.NumInputs]int64 // of the topics so far; see Pass

	replayed *timeline // of the messages so far; nil after a new record
}

type messageRecord struct {
	event   events.Message
	offset  int64
	logTime int64 // of chat.messages at this record, including it
}

type readRecord struct {
	event  events.Read
	offset int64
	// lastsUntil is the log time after which the event no longer applies to new messages: 7 days
	// after its occurred_at or its record's timestamp, whichever is later (DESIGN §4.3). Where the
	// log ends it is at least the log time from which the event remembers messages.
	lastsUntil int64
	// now is the log time of chat.reads at this record, including it. It determines which ids have
	// left the index (DESIGN §4.6).
	now int64
}

type deliveryRecord struct {
	event           events.Delivery
	offset          int64
	lastsUntil, now int64 // as of a readRecord
}

// lapse is how far log time may move past a waiting event, in milliseconds: 7 days.
const lapse = 7 * 24 * 60 * 60 * 1000

// New returns the model of a partition in which nothing has happened.
func New(settings projections.Settings) *Model { return &Model{settings: settings} }

// Ends reports whether the logs of channels end (DESIGN §5).
func (m *Model) Ends() bool { return m.settings.TrimLog }

// Pass raises the log time of a topic to at least a time in Unix milliseconds, and returns it. Each
// record that is added does so. Callers do it for records that they leave out, such as those of other
// channels.
func (m *Model) Pass(in events.Input, at int64) (logTime int64) {
	m.logTimes[in] = max(m.logTimes[in], at)
	return m.logTimes[in]
}

// AddMessage appends the record of chat.messages at offset. It copies the event. Records of one
// topic must come in the order of their offsets; the order between topics is free. The timeline
// ignores the record's timestamp, in Unix milliseconds: only the decoder uses it, to correct
// clocks.
func (m *Model) AddMessage(e *events.Message, offset, _ int64) {
	m.messages = append(m.messages, messageRecord{copyMessage(e), offset, m.Pass(events.Messages, e.OccurredAt)})
	m.replayed = nil
}

// AddRead appends the record of chat.reads at offset, as AddMessage does; timestamp is the record's
// in Unix milliseconds.
func (m *Model) AddRead(e *events.Read, offset, timestamp int64) {
	now := m.Pass(events.Reads, e.OccurredAt)
	until := max(e.OccurredAt, timestamp) + lapse
	if m.settings.TrimLog {
		until = max(until, now-m.settings.IndexRetention-forgetAfter)
	}
	m.reads = append(m.reads, readRecord{copyRead(e), offset, until, now})
}

// AddDelivery appends the record of chat.deliveries at offset, as AddMessage does.
func (m *Model) AddDelivery(e *events.Delivery, offset, timestamp int64) {
	now := m.Pass(events.Deliveries, e.OccurredAt)
	m.deliveries = append(m.deliveries, deliveryRecord{copyDelivery(e), offset, max(e.OccurredAt, timestamp) + lapse, now})
}

// timeline returns the state after chat.messages alone.
func (m *Model) timeline() *timeline {
	if m.replayed == nil {
		m.replayed = replay(m.messages, m.settings)
	}
	return m.replayed
}

// Users returns all users that any record names, sorted.
func (m *Model) Users() []string {
	var ids [][]byte
	for i := range m.messages {
		e := &m.messages[i].event
		ids = append(append(append(ids, e.SenderID), e.IDs...), e.HiddenFrom...)
	}
	for i := range m.reads {
		ids = append(ids, m.reads[i].event.UserID)
	}
	for i := range m.deliveries {
		ids = append(ids, m.deliveries[i].event.UserID)
	}
	return distinct(ids)
}

// Channels returns all channels that any record names, sorted.
func (m *Model) Channels() []string {
	var ids [][]byte
	for i := range m.messages {
		ids = append(ids, m.messages[i].event.ChannelID)
	}
	for i := range m.reads {
		ids = append(ids, m.reads[i].event.ChannelID)
	}
	for i := range m.deliveries {
		ids = append(ids, m.deliveries[i].event.ChannelID)
	}
	return distinct(ids)
}

// MessageIDs returns the ids of all messages that were posted in a channel, sorted.
func (m *Model) MessageIDs(channelID string) []string {
	var ids [][]byte
	if c := m.timeline().channels[channelID]; c != nil {
		for _, p := range c.posts {
			ids = append(ids, []byte(p.id))
		}
	}
	return distinct(ids)
}
