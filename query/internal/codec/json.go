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

// jsonCodec replaces connect's JSON: names in snake_case, zeros and empty lists written out (an
// absent message is left out), the same bytes for the same answer, and an unknown field is refused
// instead of being dropped: a misspelt page_token would start from the first page in silence. Of
// events it is ignored, as in the topics (DESIGN §3): a producer that is newer than this node may
// say more.
type jsonCodec struct{ name string }

func (c jsonCodec) Name() string { return c.name }

// IsBinary and MarshalStable make the codec fit for GET requests.
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
		return fmt.Errorf("%T is not a protobuf message", m)
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return errors.New("the body is empty, want a JSON object")
	}
	publish, isPublish := m.(*ingestv1.PublishRequest)
	if err := (protojson.UnmarshalOptions{DiscardUnknown: isPublish}).Unmarshal(b, msg); err != nil {
		if isPublish { // as its dead letter would, and without what a message says
			why := events.WhyNotJSON(b, msg.ProtoReflect().Descriptor())
			return fmt.Errorf("not a JSON PublishRequest: %s", strings.TrimPrefix(why.Field+": "+why.Detail, ": "))
		}
		return jsonError(b, err, msg)
	}
	// An event that needs the newest version may mean a field of it that this build does not know:
	// it is not left out.
	if isPublish && slices.ContainsFunc(publish.Events, needsNewest) {
		if err := protojson.Unmarshal(b, new(ingestv1.PublishRequest)); err != nil {
			return jsonError(b, err, msg)
		}
	}
	return nil
}

// needsNewest reports whether an event states the contract version of this build, or a newer one.
func needsNewest(e *ingestv1.Event) bool {
	return max(e.GetMessage().GetMinVersion(), e.GetRead().GetMinVersion(), e.GetDelivery().GetMinVersion()) >= events.Version
}

var (
	protoPrefix  = regexp.MustCompile(`^proto:[\s\x{a0}]*`)
	unknownField = regexp.MustCompile(`^\((line [0-9:]+)\): unknown field (".*")$`)
	wrongValue   = regexp.MustCompile(`^(\(line [0-9:]+\): invalid value for \S+ field )(\w+)(:)`)
	upper        = regexp.MustCompile(`[A-Z]`)
)

// jsonError returns a sentence with what is wrong with the body. It shows a bounded piece of it.
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

// alternatives lists the fields of d if it is d, not a message within, that was given the unknown
// field.
func alternatives(body []byte, quoted string, d protoreflect.MessageDescriptor) string {
	var top map[string]json.RawMessage
	_ = json.Unmarshal(body, &top) // what it found before the error will do
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
