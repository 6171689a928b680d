// Package model is the one definition of DESIGN §4 as a naive program: it keeps every record of the three input topics
// and answers each question by replaying all of chat.messages in order, then all of chat.reads, then all of
// chat.deliveries. It is slow and meant to be obviously right; tests compare the fold with it.
//
// It shares nothing with the fold but the types of questions and answers.
package model

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// Model is the log of one partition. The zero Model is not ready for use; see New. It is not safe for concurrent use.
type Model struct {
	settings   projections.Settings
	messages   []messageRecord
	reads      []readRecord
	deliveries []deliveryRecord

	replayed *timeline // of messages as they are now; nil when a record came since
}

type messageRecord struct {
	event  events.Message
	offset int64
}

type readRecord struct {
	event  events.Read
	offset int64
	// lastsUntil is the log time after which the event no longer applies to new messages: 7 days past the later of what
	// it says and when it was recorded (DESIGN §4.3).
	lastsUntil int64
	// now is the log time of chat.reads at this record, this one included: the index forgets by it (DESIGN §4.6).
	now int64
}

type deliveryRecord struct {
	event           events.Delivery
	offset          int64
	lastsUntil, now int64 // as of a readRecord
}

// lapse is how far log time may move past an event that waits, in milliseconds: 7 days.
const lapse = 7 * 24 * 60 * 60 * 1000

// New returns the model of a partition in which nothing has happened.
func New(settings projections.Settings) *Model { return &Model{settings: settings} }

// AddMessage appends the record of chat.messages at offset. The event is copied; its own topic's records must come in
// the order of their offsets, in any order with those of the other topics. The record's timestamp, in Unix
// milliseconds, plays no part in the timeline: what it says about clocks is the decoder's to apply.
func (m *Model) AddMessage(e *events.Message, offset, _ int64) {
	m.messages = append(m.messages, messageRecord{copyMessage(e), offset})
	m.replayed = nil
}

// AddRead appends the record of chat.reads at offset, as AddMessage does; timestamp is the record's in Unix
// milliseconds.
func (m *Model) AddRead(e *events.Read, offset, timestamp int64) {
	now := e.OccurredAt
	if n := len(m.reads); n > 0 {
		now = max(now, m.reads[n-1].now)
	}
	m.reads = append(m.reads, readRecord{copyRead(e), offset, max(e.OccurredAt, timestamp) + lapse, now})
}

// AddDelivery appends the record of chat.deliveries at offset, as AddMessage does.
func (m *Model) AddDelivery(e *events.Delivery, offset, timestamp int64) {
	now := e.OccurredAt
	if n := len(m.deliveries); n > 0 {
		now = max(now, m.deliveries[n-1].now)
	}
	m.deliveries = append(m.deliveries, deliveryRecord{copyDelivery(e), offset, max(e.OccurredAt, timestamp) + lapse, now})
}

// timeline is what chat.messages alone says.
func (m *Model) timeline() *timeline {
	if m.replayed == nil {
		m.replayed = replay(m.messages, m.settings)
	}
	return m.replayed
}

// Users are all users that any record names, sorted.
func (m *Model) Users() []string {
	var ids [][]byte
	for i := range m.messages {
		e := &m.messages[i].event
		ids = append(append(ids, e.SenderID), e.IDs...)
	}
	for i := range m.reads {
		ids = append(ids, m.reads[i].event.UserID)
	}
	for i := range m.deliveries {
		ids = append(ids, m.deliveries[i].event.UserID)
	}
	return distinct(ids)
}

// Channels are all channels that any record names, sorted.
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

// MessageIDs are the ids of all messages that were posted in a channel, sorted.
func (m *Model) MessageIDs(channelID string) []string {
	var ids [][]byte
	if c := m.timeline().channels[channelID]; c != nil {
		for _, p := range c.posts {
			ids = append(ids, []byte(p.id))
		}
	}
	return distinct(ids)
}

func distinct(ids [][]byte) []string {
	var out []string
	for _, id := range ids {
		if len(id) > 0 {
			out = append(out, string(id))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
