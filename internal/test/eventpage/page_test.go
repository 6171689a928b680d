package eventpage

import (
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/processor"
)

const path = "../../../docs/events.md"

var update = flag.Bool("update", false, "write the examples in other languages, and the answer to them")

func read(t *testing.T) (string, []section) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(page), sections(string(page))
}

var details = regexp.MustCompile("(?s)<details>.*?</details>\n")

// TestLanguages: below each JSON example of an event the page has the same example in the other
// languages.
func TestLanguages(t *testing.T) {
	page, list := read(t)
	want := details.ReplaceAllString(page, "")
	want = regexp.MustCompile("\n{3,}").ReplaceAllString(want, "\n\n")
	for i := range list {
		s := &list[i]
		if kindOf(s) == nil {
			continue
		}
		if len(s.events()) == 0 {
			t.Errorf("%s has no example", s.title)
			continue
		}
		first := s.events()[0]
		code, err := calls(s.topic, first)
		if err != nil {
			t.Fatalf("%s: %v", s.title, err)
		}
		shown := "```json\n" + first + "\n```\n"
		want = strings.Replace(want, shown, shown+"\n"+code, 1)
	}
	if page == want {
		return
	}
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s differs from what its JSON examples are in other languages: go test ./internal/test/eventpage -run TestLanguages -update", path)
}

// fields returns the field names in the tables of a section.
func (s *section) fields() map[string]bool {
	names := map[string]bool{}
	for _, r := range s.rows {
		for _, f := range r.fields {
			names[f] = true
		}
	}
	return names
}

func compare(t *testing.T, s *section, md protoreflect.MessageDescriptor) {
	t.Helper()
	described := s.fields()
	for i := range md.Fields().Len() {
		f := md.Fields().Get(i)
		if o := f.ContainingOneof(); o != nil && o.Name() == "kind" {
			continue // it has a section of its own
		}
		if !described[string(f.Name())] {
			t.Errorf("%s: the page lacks %s", s.title, f.Name())
		}
		delete(described, string(f.Name()))
	}
	for name := range described {
		t.Errorf("%s: the schema has no %s", s.title, name)
	}
}

// TestFields: the page has a section for each kind of event and for each output record. Each
// section has every field of the schema and no other.
func TestFields(t *testing.T) {
	_, list := read(t)
	by := map[string]*section{}
	for i := range list {
		by[list[i].topic+"/"+list[i].title] = &list[i]
		by["/"+list[i].title] = &list[i]
	}
	files := []protoreflect.FileDescriptor{
		eventsv1.File_tidemark_events_v1_message_proto, eventsv1.File_tidemark_events_v1_read_proto,
		eventsv1.File_tidemark_events_v1_delivery_proto, eventsv1.File_tidemark_events_v1_outputs_proto,
	}
	kinds := map[protoreflect.FullName]bool{}
	for _, topic := range slices.Sorted(maps.Keys(ingestName)) {
		event := messageOf(topic).ProtoReflect().Descriptor()
		for i := range event.Oneofs().ByName("kind").Fields().Len() {
			f := event.Oneofs().ByName("kind").Fields().Get(i)
			kinds[f.Message().FullName()] = true
			if s := by[topic+"/"+string(f.Name())]; s == nil {
				t.Errorf("the chapter %s has no section %s", topic, f.Name())
			} else {
				compare(t, s, f.Message())
			}
		}
	}
	if len(kinds) < 25 {
		t.Errorf("%d kinds", len(kinds))
	}
	for _, file := range files {
		for i := range file.Messages().Len() {
			md := file.Messages().Get(i)
			if kinds[md.FullName()] {
				continue
			}
			if s := by["/"+string(md.Name())]; s == nil {
				t.Errorf("the page has no section %s", md.Name())
			} else {
				compare(t, s, md)
			}
		}
	}
}

// TestReasonsAndHeaders: the page explains every reason and every header of a dead letter.
func TestReasonsAndHeaders(t *testing.T) {
	_, list := read(t)
	for i := range list {
		s := &list[i]
		var want []string
		switch s.title {
		case "What becomes of a record":
			for _, r := range events.LetterReasons {
				want = append(want, string(r))
			}
		case events.TopicDeadLetters:
			want = []string{
				processor.HeaderTopic, processor.HeaderPartition, processor.HeaderOffset, processor.HeaderReason,
				processor.HeaderDetail, processor.HeaderTimestamp, processor.HeaderLeftOut,
			}
		default:
			continue
		}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(s.fields())); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", s.title, got, want)
		}
	}
}

// TestOutputs: the decoder takes the examples of output records.
func TestOutputs(t *testing.T) {
	_, list := read(t)
	examples := 0
	for i := range list {
		s := &list[i]
		var m proto.Message
		var decode func([]byte) error
		switch s.title {
		case "UnreadDelta":
			m, decode = new(eventsv1.UnreadDelta), func(b []byte) error { return events.DecodeUnreadDelta(b, new(events.UnreadDelta)) }
		case "ChannelRecord":
			m, decode = new(eventsv1.ChannelRecord), func(b []byte) error { return events.DecodeChannelRecord(b, new(events.ChannelRecord)) }
		case "ReceiptsRecord":
			m, decode = new(eventsv1.ReceiptsRecord), func(b []byte) error { return events.DecodeReceiptsRecord(b, new(events.ReceiptsRecord)) }
		default:
			continue
		}
		for _, example := range s.events() {
			examples++
			if err := protojson.Unmarshal([]byte(example), m); err != nil {
				t.Errorf("%s: %v", s.title, err)
				continue
			}
			b, err := proto.Marshal(m)
			if err == nil {
				err = decode(b)
			}
			if err != nil {
				t.Errorf("%s: %v", s.title, err)
			}
		}
	}
	if examples != 3 {
		t.Errorf("%d examples", examples)
	}
}
