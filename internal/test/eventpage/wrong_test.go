package eventpage

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tidemark/tidemark/events"
)

// decode returns the reason why the decoder refuses an event, or "" if it does not.
func decode(topic string, value []byte) events.Reason {
	var d events.Decoder
	var err error
	switch now := time.Now().UnixMilli(); topic {
	case events.TopicMessages:
		err = d.Message(value, now, new(events.Message))
	case events.TopicReads:
		err = d.Read(value, now, new(events.Read))
	default:
		err = d.Delivery(value, now, new(events.Delivery))
	}
	if err == nil {
		return ""
	}
	return events.ReasonOf(err)
}

// TestExamplesAreEvents: the decoder takes each example, and finds the kind of its section in it.
func TestExamplesAreEvents(t *testing.T) {
	_, list := read(t)
	n := 0
	for i := range list {
		s := &list[i]
		if kindOf(s) == nil {
			continue
		}
		for _, example := range s.events() {
			n++
			if reason := decode(s.topic, []byte(example)); reason != "" {
				t.Errorf("%s: %s: %s", s.title, reason, example)
			}
			var fields map[string]any
			if err := json.Unmarshal([]byte(example), &fields); err != nil || fields[s.title] == nil {
				t.Errorf("%s: an example of another kind: %s (%v)", s.title, example, err)
			}
		}
	}
	if n < 30 {
		t.Errorf("%d examples", n)
	}
}

// with returns an example with another value for a field, in the kind's object or beside it. The
// value absent removes the field. Other members of the field's oneof are removed.
func with(example, kind string, f protoreflect.FieldDescriptor, value any) []byte {
	var event map[string]any
	if err := json.Unmarshal([]byte(example), &event); err != nil {
		panic(err)
	}
	place := event
	if kind != "" {
		place = event[kind].(map[string]any)
	}
	if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
		for i := range o.Fields().Len() {
			delete(place, string(o.Fields().Get(i).Name()))
		}
	}
	if value == absent {
		delete(place, string(f.Name()))
	} else {
		place[string(f.Name())] = value
	}
	out, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	return out
}

var absent = new(any)

// wrong returns values of the right type that the decoder may refuse in a field.
func wrong(f protoreflect.FieldDescriptor) []any {
	many := slices.Repeat([]string{"x"}, 1001)
	switch {
	case f.IsList():
		return []any{absent, []string{}, []string{"a\u0001"}, []string{""}, []string{strings.Repeat("x", 256)}, many}
	case f.Message() != nil:
		return []any{absent, "1969-12-31T23:59:59Z"}
	case f.Enum() != nil:
		return []any{absent, "LOUD", 7}
	case f.Kind() == protoreflect.StringKind:
		return []any{absent, "", "a\u0001", strings.Repeat("x", 256)}
	case f.Kind() == protoreflect.Uint32Kind && f.Name() != "min_version":
		return []any{absent, 0, uint32(1<<32 - 1)}
	}
	return []any{absent}
}

// TestWrongValues: the decoder refuses each field for the reasons that its row names, and for no
// other. A value of another type is always undecodable.
func TestWrongValues(t *testing.T) {
	_, list := read(t)
	examples := map[string]string{} // by topic
	for i := range list {
		if s := &list[i]; kindOf(s) != nil && examples[s.topic] == "" {
			examples[s.topic] = s.events()[0]
		}
	}
	rows := 0
	for i := range list {
		s := &list[i]
		topic, kind, example := s.topic, s.title, ""
		md := protoreflect.MessageDescriptor(nil)
		if f := kindOf(s); f != nil {
			md, example = f.Message(), s.events()[0]
		} else {
			for topic = range ingestName {
				if d := messageOf(topic).ProtoReflect().Descriptor(); string(d.Name()) == s.title {
					md, kind, example = d, "", examples[topic]
					break
				}
			}
		}
		if md == nil {
			continue
		}
		for _, r := range s.rows {
			for _, name := range r.fields {
				rows++
				f := md.Fields().ByName(protoreflect.Name(name))
				if f == nil {
					continue // TestFields reports it
				}
				t.Run(fmt.Sprintf("%s/%s/%s", topic, s.title, name), func(t *testing.T) {
					want := map[string]bool{}
					for _, m := range quoted.FindAllStringSubmatch(r.cells[len(r.cells)-1], -1) {
						want[m[1]] = true
					}
					got := map[string]bool{}
					for _, v := range wrong(f) {
						if reason := decode(topic, with(example, kind, f, v)); reason != "" {
							got[string(reason)] = true
						}
					}
					if !maps.Equal(got, want) {
						t.Errorf("the page says %v, the decoder %v", slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
					}
					if reason := decode(topic, with(example, kind, f, map[string]int{"x": 1})); reason != events.ReasonUndecodable {
						t.Errorf("an object is refused as %q", reason)
					}
				})
			}
		}
	}
	if rows < 70 {
		t.Errorf("only %d rows", rows)
	}
}
