package events

import (
	"encoding/json"
	"math"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/events/internal/jsonwhy"
)

// fromJSON returns the Protobuf encoding of a JSON event, so that the same code decodes and
// validates both forms. shape is an empty message of the event's type.
func fromJSON(value []byte, shape proto.Message) ([]byte, error) {
	o := protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: jsonwhy.MaxDepth}
	if err := o.Unmarshal(value, shape); err != nil {
		if v := jsonMinVersion(value); v > Version {
			return nil, newerVersion(v)
		}
		return nil, WhyNotJSON(value, shape.ProtoReflect().Descriptor())
	}
	if e, ok := shape.(*eventsv1.ReadEvent); ok && e.GetNotifySet() != nil && unknownLevel(value) {
		e.GetNotifySet().Level = eventsv1.NotifySet_Level(NumLevels)
	}
	encoded, err := proto.Marshal(shape)
	if err != nil {
		return nil, &Error{Reason: ReasonUndecodable, Detail: "JSON with text that is not valid UTF-8"}
	}
	return encoded, nil
}

// jsonMinVersion returns the min_version of a JSON value that does not fit this schema. It returns
// 0 if the value is not JSON, or has no min_version that is a uint32.
func jsonMinVersion(value []byte) uint32 {
	var fields map[string]json.RawMessage
	if json.Unmarshal(value, &fields) != nil {
		return 0
	}
	var version uint32
	for _, name := range []string{"min_version", "minVersion"} {
		raw := fields[name]
		var quoted string // as protojson allows for any number
		if json.Unmarshal(raw, &quoted) == nil {
			raw = []byte(quoted)
		}
		var v float64 // protojson accepts 2.0 as a uint32
		if json.Unmarshal(raw, &v) == nil && v >= 0 && v <= math.MaxUint32 && v == math.Trunc(v) {
			version = max(version, uint32(v))
		}
	}
	return version
}

// WhyNotJSON explains why protojson refused a JSON value. The error depends on the value alone and
// quotes nothing of it.
func WhyNotJSON(value []byte, md protoreflect.MessageDescriptor) *Error {
	field, detail := jsonwhy.Why(value, md)
	return &Error{Reason: ReasonUndecodable, Field: field, Detail: detail}
}

// unknownLevel reports whether a notify_set names a level that the schema does not have. protojson
// drops unknown names, which would make the level ALL.
func unknownLevel(value []byte) bool {
	var event map[string]json.RawMessage
	if json.Unmarshal(value, &event) != nil {
		return false
	}
	for _, name := range []string{"notify_set", "notifySet"} {
		var fields map[string]any
		_ = json.Unmarshal(event[name], &fields) // missing parts have no fields
		if level, ok := fields["level"].(string); ok {
			_, known := eventsv1.NotifySet_Level_value[level]
			return !known
		}
	}
	return false
}
