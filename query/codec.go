package query

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// jsonCodec replaces connect's JSON: names in snake_case, zeros and empty lists written out (an absent message is left
// out), the same bytes for the same answer, and an unknown field is refused instead of being dropped: a misspelt
// page_token would start from the first page in silence.
type jsonCodec struct{ name string }

func (c jsonCodec) Name() string { return c.name }

// IsBinary and MarshalStable make the codec fit for GET requests.
func (c jsonCodec) IsBinary() bool { return false }

func (c jsonCodec) MarshalStable(m any) ([]byte, error) { return c.Marshal(m) }

func (c jsonCodec) Marshal(m any) ([]byte, error) {
	msg, ok := m.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no protobuf message", m)
	}
	b, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(msg)
	if err != nil {
		return nil, err
	}
	// protojson varies its white space from build to build.
	out := bytes.NewBuffer(make([]byte, 0, len(b)))
	if err := json.Compact(out, b); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (c jsonCodec) Unmarshal(b []byte, m any) error {
	msg, ok := m.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no protobuf message", m)
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return errors.New("the body is empty, want a JSON object")
	}
	if err := protojson.Unmarshal(b, msg); err != nil {
		return jsonError(err, msg)
	}
	return nil
}

var (
	protoPrefix  = regexp.MustCompile(`^proto:[\s\x{a0}]*`)
	unknownField = regexp.MustCompile(`^\((line [0-9:]+)\): unknown field (".*")$`)
)

// jsonError says in one sentence what is wrong with the body.
func jsonError(err error, m proto.Message) error {
	text := protoPrefix.ReplaceAllString(err.Error(), "")
	d := m.ProtoReflect().Descriptor()
	if u := unknownField.FindStringSubmatch(text); u != nil {
		if d.Fields().Len() > 0 {
			names := make([]string, d.Fields().Len())
			for i := range names {
				names[i] = string(d.Fields().Get(i).Name())
			}
			return fmt.Errorf("unknown field %s at %s; %s has %s", u[2], u[1], d.Name(), strings.Join(names, ", "))
		}
	}
	return fmt.Errorf("not a JSON %s: %s", d.Name(), text)
}
