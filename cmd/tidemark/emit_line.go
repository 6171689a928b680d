package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/letters"
)

// lineParser turns lines into records. Fields that no event has are ignored, as in the topics (DESIGN §3); since in what
// a person types they are slips, unknown is told of the first in a line.
type lineParser struct {
	checker letters.Checker
	unknown func(reason string)
}

// envelope is a line without --topic.
type envelope struct {
	Topic string          `json:"topic"`
	Event json.RawMessage `json:"event"`
}

// parse makes the record of a line, nil for an empty one. topic is that of bare events; empty: the line says it.
func (p *lineParser) parse(topic string, line []byte) (*kgo.Record, error) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil, nil
	}
	event := line
	if topic == "" {
		var e envelope
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			return nil, fmt.Errorf(`want {"topic": "chat.messages", "event": {...}}, or a bare event and --topic: %w`, err)
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return nil, errors.New("more than one JSON value on the line")
		}
		topic, event = e.Topic, e.Event
		if !slices.Contains(events.InputTopics[:], topic) {
			return nil, fmt.Errorf("topic: %q is no input: want one of %s", topic, strings.Join(events.InputTopics[:], ", "))
		}
		if len(event) == 0 {
			return nil, errors.New("event: missing")
		}
	}
	value, slip, err := encodeJSON(topic, event)
	if err != nil {
		return nil, err
	}
	channel, err := p.checker.Check(topic, event)
	switch {
	case err != nil && slip != nil: // most likely why
		return nil, fmt.Errorf("%w (event: %s)", err, jsonReason(slip))
	case err != nil:
		return nil, err
	case slip != nil:
		p.unknown(jsonReason(slip))
	}
	return &kgo.Record{Topic: topic, Key: channel, Value: value}, nil
}

// encodeJSON gives the Protobuf form of an event in JSON. slip is what would be wrong with it if it had to have known
// fields alone.
func encodeJSON(topic string, event []byte) (value []byte, slip, err error) {
	var m proto.Message
	switch topic {
	case events.TopicMessages:
		m = new(eventsv1.MessageEvent)
	case events.TopicReads:
		m = new(eventsv1.ReadEvent)
	default:
		m = new(eventsv1.DeliveryEvent)
	}
	if slip = protojson.Unmarshal(event, m); slip != nil {
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(event, m); err != nil {
			return nil, nil, fmt.Errorf("event: %s", jsonReason(err))
		}
	}
	value, err = proto.Marshal(m)
	return value, slip, err
}

var jsonNoise = regexp.MustCompile(`^proto:[\s\x{a0}]*(\(line \d+:\d+\):)?\s*`)

// jsonReason is what protojson complains about, without its prefix and the line that it always believes to be the first.
func jsonReason(err error) string { return jsonNoise.ReplaceAllString(err.Error(), "") }
