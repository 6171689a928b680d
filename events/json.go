package events

import (
	"encoding/json"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// maxJSONDepth is well above what the schema nests; deeper is refused instead of recursed into, also in unknown fields.
const maxJSONDepth = 64

// fromJSON gives the Protobuf encoding of a JSON event, so that both forms are decoded and validated by the same code.
// shape is an empty message of the event's type.
func fromJSON(value []byte, shape proto.Message) ([]byte, error) {
	o := protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: maxJSONDepth}
	if err := o.Unmarshal(value, shape); err != nil {
		if v := jsonMinVersion(value); v > Version {
			return nil, newerVersion(v)
		}
		return nil, &Error{Reason: ReasonUndecodable, Detail: "not JSON of this event" + position(err.Error())}
	}
	encoded, err := proto.Marshal(shape)
	if err != nil {
		return nil, &Error{Reason: ReasonUndecodable, Detail: "JSON with text that is not valid UTF-8"}
	}
	return encoded, nil
}

// jsonMinVersion is the min_version of JSON that does not fit this schema; 0 if it is no JSON, or states none that is a
// uint32.
func jsonMinVersion(value []byte) uint32 {
	var fields map[string]json.RawMessage
	if json.Unmarshal(value, &fields) != nil {
		return 0
	}
	var version uint32
	for _, name := range []string{"min_version", "minVersion"} {
		raw := fields[name]
		var quoted string // as any number in protojson may be
		if json.Unmarshal(raw, &quoted) == nil {
			raw = []byte(quoted)
		}
		var v float64 // 2.0 is a uint32 there, too
		if json.Unmarshal(raw, &v) == nil && v >= 0 && v <= math.MaxUint32 && v == math.Trunc(v) {
			version = max(version, uint32(v))
		}
	}
	return version
}

// position takes "line:column" out of an error of protojson. The rest of such a text may quote the value, previews
// included, and must not reach a log.
func position(text string) string {
	_, after, ok := strings.Cut(text, "(line ")
	if !ok {
		return ""
	}
	at, _, ok := strings.Cut(after, ")")
	if !ok || strings.Trim(at, "0123456789:") != "" {
		return ""
	}
	return " (line:column " + at + ")"
}
