package client

import (
	"encoding/json"
	"errors"
	"time"
)

// Kind is the kind of an event with its fields: MessagePosted and the other types of messages.go,
// reads.go and deliveries.go.
type Kind interface {
	kind() (of, name string)
}

// Event is one event of a channel. docs/events.md describes when a chat server writes which event.
type Event struct {
	ChannelID string
	// UserID is who read or received; of a message event it is empty.
	UserID string
	// OccurredAt is when it happened; zero: when the record is written.
	OccurredAt time.Time
	// InstanceID is the origin of a read, a device or connection. Deltas echo it. Empty: none.
	InstanceID string
	Kind       Kind
}

// topics has the input topic of each type of event.
var topics = map[string]string{"message": "chat.messages", "read": "chat.reads", "delivery": "chat.deliveries"}

// Topic returns the topic of the event, for a program that writes to Kafka itself. The key is the
// channel, and the partitioner must be murmur2.
func (e Event) Topic() string {
	if e.Kind == nil {
		return ""
	}
	of, _ := e.Kind.kind()
	return topics[of]
}

// Value returns the value of the event's record in Kafka, as JSON.
func (e Event) Value() ([]byte, error) {
	if e.Kind == nil {
		return nil, errors.New("client: an event without a kind, such as client.MessagePosted{…}")
	}
	_, name := e.Kind.kind()
	out := map[string]any{"channel_id": e.ChannelID, name: e.Kind}
	if e.UserID != "" {
		out["user_id"] = e.UserID
	}
	if !e.OccurredAt.IsZero() {
		out["occurred_at"] = e.OccurredAt.UTC()
	}
	if e.InstanceID != "" {
		out["instance_id"] = e.InstanceID
	}
	return json.Marshal(out)
}

// MarshalJSON writes the event in the form that Publish accepts.
func (e Event) MarshalJSON() ([]byte, error) {
	value, err := e.Value()
	if err != nil {
		return nil, err
	}
	of, _ := e.Kind.kind()
	return json.Marshal(map[string]json.RawMessage{of: value})
}
