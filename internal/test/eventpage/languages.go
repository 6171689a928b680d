package eventpage

import (
	"encoding/json"
	"fmt"
	"go/format"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// ingestName has the field for each topic's events in a call of Publish.
var ingestName = map[string]string{"chat.messages": "message", "chat.reads": "read", "chat.deliveries": "delivery"}

// calls returns the first example of a section in the other languages, in the form in which the
// page shows it below the JSON.
func calls(topic, event string) (string, error) {
	m := messageOf(topic)
	if err := protojson.Unmarshal([]byte(event), m); err != nil {
		return "", err
	}
	goCall, err := format.Source(fmt.Appendf(nil, "publish(%q, %s)", topic, goLiteral(m.ProtoReflect(), 0)))
	if err != nil {
		return "", err
	}
	pythonCall := fmt.Sprintf("publish(%q, %s)", topic, pythonLiteral(event))
	var head struct {
		Channel string `json:"channel_id"`
	}
	if err := json.Unmarshal([]byte(event), &head); err != nil {
		return "", err
	}
	javaCall := fmt.Sprintf("publish(%q, %q, \"\"\"\n    %s\n    \"\"\");", topic, head.Channel, event)
	curl := fmt.Sprintf("curl -s http://127.0.0.1:8080/tidemark.ingest.v1.IngestService/Publish -H 'Content-Type: application/json' \\\n  -d '{\"events\": [{%q: %s}]}'", ingestName[topic], event)
	var b strings.Builder
	b.WriteString("<details><summary>curl, Python, Java, Go</summary>\n\n")
	for _, c := range []struct{ language, text string }{{"sh", curl}, {"python", pythonCall}, {"java", javaCall}, {"go", string(goCall)}} {
		fmt.Fprintf(&b, "```%s\n%s\n```\n\n", c.language, c.text)
	}
	b.WriteString("</details>\n")
	return b.String(), nil
}

// pythonLiteral returns JSON as a Python literal. No text in the examples contains true, false or
// null.
func pythonLiteral(event string) string {
	return strings.NewReplacer(": true", ": True", ": false", ": False").Replace(event)
}

// goLiteral returns a message as a literal of its generated type.
func goLiteral(m protoreflect.Message, indent int) string {
	tabs := strings.Repeat("\t", indent+1)
	var b strings.Builder
	fmt.Fprintf(&b, "&eventsv1.%s{", m.Descriptor().Name())
	fields := m.Descriptor().Fields()
	any := false
	for i := range fields.Len() {
		f := fields.Get(i)
		if !m.Has(f) {
			continue
		}
		any = true
		name := camel(string(f.Name()))
		if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
			wrapper := fmt.Sprintf("&eventsv1.%s_%s{%s: %s}", m.Descriptor().Name(), name, name, goValue(f, m.Get(f), indent+1))
			fmt.Fprintf(&b, "\n%s%s: %s,", tabs, camel(string(o.Name())), wrapper)
			continue
		}
		value := goValue(f, m.Get(f), indent+1)
		if f.HasOptionalKeyword() {
			value = "proto.Bool(" + value + ")" // all optional fields are bool
		}
		fmt.Fprintf(&b, "\n%s%s: %s,", tabs, name, value)
	}
	if any {
		b.WriteString("\n" + strings.Repeat("\t", indent))
	}
	b.WriteString("}")
	return b.String()
}

func goValue(f protoreflect.FieldDescriptor, v protoreflect.Value, indent int) string {
	switch {
	case f.IsList():
		var list []string
		for i := range v.List().Len() {
			list = append(list, fmt.Sprintf("%q", v.List().Get(i).String()))
		}
		return "[]string{" + strings.Join(list, ", ") + "}"
	case f.Message() != nil && f.Message().FullName() == "google.protobuf.Timestamp":
		t := v.Message().Interface().(*timestamppb.Timestamp)
		return fmt.Sprintf("at(%q)", t.AsTime().Format(time.RFC3339))
	case f.Message() != nil:
		return goLiteral(v.Message(), indent)
	case f.Enum() != nil:
		return fmt.Sprintf("eventsv1.%s_%s", f.Enum().Parent().Name(), f.Enum().Values().ByNumber(v.Enum()).Name())
	case f.Kind() == protoreflect.StringKind:
		return fmt.Sprintf("%q", v.String())
	}
	return fmt.Sprint(v.Interface())
}

// camel returns a field's name in generated Go.
func camel(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
