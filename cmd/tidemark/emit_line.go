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

	"github.com/tidemark/tidemark/app/letters"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// lineParser turns lines into records. Like the topics, it ignores fields that no event has (DESIGN
// §3). In typed input such a field is a mistake, so it calls unknown for the first one in a line.
type lineParser struct {
	checker letters.Checker
	unknown func(reason string)
}

// parse makes the record of a line, nil for an empty one. topic is the topic of bare events; if it
// is empty, the line has it.
func (p *lineParser) parse(topic string, line []byte) (*kgo.Record, error) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil, nil
	}
	event := line
	if topic == "" {
		var err error
		if topic, event, err = unwrap(line); err != nil {
			return nil, err
		}
	}
	if event[0] != '{' {
		return nil, errors.New("event: must be a JSON object")
	}
	channel, err := p.checker.Check(topic, event)
	if events.ReasonOf(err) == events.ReasonUndecodable {
		return nil, err // the error names the field
	}
	value, slip, encodeErr := encodeJSON(topic, event)
	if encodeErr == nil && len(value) > 0 {
		// The event states the version that it needs. A processor that lacks a part of that version
		// would stop at it.
		if _, stops := p.checker.Check(topic, value); errors.Is(stops, events.ErrNewerVersion) {
			return nil, stops
		}
	}
	switch {
	case err != nil && slip != nil: // most likely the cause
		return nil, fmt.Errorf("%w (event: %s)", err, jsonReason(slip))
	case err != nil || encodeErr != nil:
		return nil, errors.Join(err, encodeErr)
	case slip != nil:
		p.unknown(jsonReason(slip))
	}
	return &kgo.Record{Topic: topic, Key: channel, Value: value}, nil
}

// unwrap splits a line without --topic into topic and event.
func unwrap(line []byte) (topic string, event []byte, err error) {
	var fields map[string]json.RawMessage
	d := json.NewDecoder(bytes.NewReader(line))
	if err := d.Decode(&fields); err != nil {
		return "", nil, fmt.Errorf(`want {"topic": "chat.messages", "event": {...}}, or a bare event and --topic: %s`, notJSON(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", nil, errors.New("more than one JSON value on the line")
	}
	for name := range fields {
		if name != "topic" && name != "event" {
			return "", nil, fmt.Errorf(`want {"topic": "chat.messages", "event": {...}}, or a bare event and --topic: unknown field %q`, name)
		}
	}
	if err := json.Unmarshal(fields["topic"], &topic); err != nil && fields["topic"] != nil {
		return "", nil, errors.New("topic: must be a string")
	}
	if !slices.Contains(events.InputTopics[:], topic) {
		return "", nil, fmt.Errorf("topic: %q is not an input topic: want one of %s", topic, strings.Join(events.InputTopics[:], ", "))
	}
	if len(fields["event"]) == 0 {
		return "", nil, errors.New("event: missing")
	}
	return topic, fields["event"], nil
}

// notJSON describes the error of a line without the names of Go types.
func notJSON(err error) string {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return syntax.Error()
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the JSON ends too early"
	default:
		return "the line is not a JSON object"
	}
}

// encodeJSON converts JSON to the Protobuf form of an event. slip is the error that the event would
// have if unknown fields were not allowed.
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
			return nil, nil, err // the checker has accepted it
		}
	}
	events.StateVersion(m)
	value, err = proto.Marshal(m)
	return value, slip, err
}

var jsonNoise = regexp.MustCompile(`^proto:[\s\x{a0}]*(\(line \d+:\d+\):)?\s*`)

// jsonReason returns protojson's error without its prefix and its line number, which is always 1.
func jsonReason(err error) string { return jsonNoise.ReplaceAllString(err.Error(), "") }
