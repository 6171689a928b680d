package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/query/ingestv1"
)

// jsonCodec replaces connect's JSON: names in snake_case, zeros and empty lists included (an absent
// message is left out), and the same bytes for the same answer. It refuses an unknown field instead
// of dropping it: a misspelt page_token would otherwise silently start from the first page. In
// events it ignores unknown fields, as in the topics (DESIGN §3), because a producer may be newer
// than this node.
type jsonCodec struct{ name string }

func (c jsonCodec) Name() string { return c.name }

// IsBinary and MarshalStable allow the codec in GET requests.
func (c jsonCodec) IsBinary() bool { return false }

func (c jsonCodec) MarshalStable(m any) ([]byte, error) { return c.Marshal(m) }

func (c jsonCodec) Marshal(m any) ([]byte, error) {
	msg, ok := m.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a protobuf message", m)
	}
	b, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(msg)
	if err != nil {
		return nil, err
	}
	// protojson's white space varies between builds.
	out := bytes.NewBuffer(make([]byte, 0, len(b)))
	if err := json.Compact(out, b); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (c jsonCodec) Unmarshal(b []byte, m any) error {
	msg, ok := m.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is not a protobuf message", m)
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return errors.New("the body is empty, want a JSON object")
	}
	publish, isPublish := m.(*ingestv1.PublishRequest)
	if err := (protojson.UnmarshalOptions{DiscardUnknown: isPublish}).Unmarshal(b, msg); err != nil {
		if isPublish { // the text of a dead letter, without the name of the message
			why := events.WhyNotJSON(b, msg.ProtoReflect().Descriptor())
			return fmt.Errorf("not a JSON PublishRequest: %s", strings.TrimPrefix(why.Field+": "+why.Detail, ": "))
		}
		return jsonError(b, err, msg)
	}
	// An event that needs the newest version may use a field that this build does not have, and
	// dropping that field would change its meaning.
	if isPublish && slices.ContainsFunc(publish.Events, needsNewest) {
		if err := protojson.Unmarshal(b, new(ingestv1.PublishRequest)); err != nil {
			return jsonError(b, err, msg)
		}
	}
	return nil
}

// needsNewest reports whether an event states the contract version of this build or a newer one.
func needsNewest(e *ingestv1.Event) bool {
	return max(e.GetMessage().GetMinVersion(), e.GetRead().GetMinVersion(), e.GetDelivery().GetMinVersion()) >= events.Version
}

var (
	protoPrefix  = regexp.MustCompile(`^proto:[\s\x{a0}]*`)
	unknownField = regexp.MustCompile(`^\((line [0-9:]+)\): unknown field (".*")$`)
	wrongValue   = regexp.MustCompile(`^(\(line [0-9:]+\): invalid value for \S+ field )(\w+)(:)`)
	upper        = regexp.MustCompile(`[A-Z]`)
)

// jsonError returns a sentence about the fault of the body, with a piece of it of limited length.
func jsonError(body []byte, err error, m proto.Message) error {
	text := protoPrefix.ReplaceAllString(err.Error(), "")
	d := m.ProtoReflect().Descriptor()
	if u := unknownField.FindStringSubmatch(text); u != nil {
		return fmt.Errorf("unknown field %.100s at %s%s", u[2], u[1], alternatives(body, u[2], d))
	}
	if w := wrongValue.FindStringSubmatch(text); w != nil {
		// protojson names fields in lowerCamelCase, everything else here in snake_case.
		snake := upper.ReplaceAllStringFunc(w[2], func(u string) string { return "_" + strings.ToLower(u) })
		text = w[1] + snake + w[3] + text[len(w[0]):]
	}
	return fmt.Errorf("not a JSON %s: %.300s", d.Name(), text)
}

// alternatives returns the fields of d if the unknown field is in d itself, not in a nested
// message.
func alternatives(body []byte, quoted string, d protoreflect.MessageDescriptor) string {
	var top map[string]json.RawMessage
	_ = json.Unmarshal(body, &top) // the members before the error are enough
	name, err := strconv.Unquote(quoted)
	if _, ok := top[name]; !ok || err != nil {
		return ""
	}
	names := make([]string, d.Fields().Len())
	for i := range names {
		names[i] = string(d.Fields().Get(i).Name())
	}
	return fmt.Sprintf("; %s has %s", d.Name(), strings.Join(names, ", "))
}
