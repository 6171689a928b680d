package apidoc

import (
	"google.golang.org/protobuf/reflect/protoreflect"
)

// object is a JSON object. encoding/json sorts its keys.
type object = map[string]any

// schemas collects the JSON schemas of messages, by name.
type schemas struct {
	comments map[string]string // comments
	all      object
}

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

// name returns a short name where it is unambiguous: the events package and the query package both
// have a MessageRef.
func name(d protoreflect.Descriptor) string {
	n := string(d.Name())
	if d.ParentFile().Package() == "tidemark.events.v1" {
		switch n {
		case "MessageRef", "Filed":
			n = "Event" + n
		}
	}
	return n
}

// add adds a message and all messages that its fields need, and returns a reference to it.
func (s *schemas) add(md protoreflect.MessageDescriptor) object {
	n := name(md)
	if _, ok := s.all[n]; ok {
		return ref(n)
	}
	o := object{"type": "object"}
	s.all[n] = o
	if text := s.comments[string(md.FullName())]; text != "" {
		o["description"] = text
	}
	properties := object{}
	for i := range md.Fields().Len() {
		f := md.Fields().Get(i)
		p := s.field(f)
		if text := s.comments[string(f.FullName())]; text != "" {
			if _, isRef := p["$ref"]; isRef { // JSON Schema ignores what stands beside a reference
				p = object{"allOf": []any{p}}
			}
			p["description"] = text
		}
		properties[string(f.Name())] = p
	}
	if len(properties) > 0 {
		o["properties"] = properties
	}
	return ref(n)
}

func (s *schemas) field(f protoreflect.FieldDescriptor) object {
	switch {
	case f.IsMap():
		return object{"type": "object", "additionalProperties": s.single(f.MapValue())}
	case f.IsList():
		return object{"type": "array", "items": s.single(f)}
	}
	return s.single(f)
}

func (s *schemas) single(f protoreflect.FieldDescriptor) object {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return object{"type": "boolean"}
	case protoreflect.Uint32Kind:
		return object{"type": "integer", "minimum": 0, "maximum": uint32(1<<32 - 1)}
	case protoreflect.Int64Kind:
		return object{"type": "integer", "format": "int64"}
	case protoreflect.StringKind:
		return object{"type": "string"}
	case protoreflect.EnumKind:
		var names []any
		for i := range f.Enum().Values().Len() {
			names = append(names, string(f.Enum().Values().Get(i).Name()))
		}
		return object{"type": "string", "enum": names}
	case protoreflect.MessageKind:
		if f.Message().FullName() == "google.protobuf.Timestamp" {
			return object{"type": "string", "format": "date-time"}
		}
		return s.add(f.Message())
	}
	panic("no schema for " + f.FullName())
}
