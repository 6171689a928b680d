package eventpage

import (
	"regexp"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// section is a heading of the page with the text up to the next heading.
type section struct {
	title  string
	topic  string // the input topic of its chapter, or ""
	blocks []block
	rows   []row
}

// block is code between fences, with the word after the first fence.
type block struct{ language, text string }

// row is a line of a table whose first cell names fields.
type row struct {
	fields []string
	cells  []string
}

var (
	fence  = regexp.MustCompile("(?ms)^```([a-z ]*)\n(.*?)^```$")
	quoted = regexp.MustCompile("`([^`]+)`")
)

// sections parses a page.
func sections(page string) (list []section) {
	topic := ""
	code := false
	var text []string
	end := func() {
		if len(list) == 0 {
			return
		}
		s, all := &list[len(list)-1], strings.Join(text, "\n")+"\n"
		for _, m := range fence.FindAllStringSubmatch(all, -1) {
			s.blocks = append(s.blocks, block{m[1], m[2]})
		}
		for _, line := range text {
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			if !strings.HasPrefix(line, "| `") || len(cells) < 2 {
				continue
			}
			r := row{cells: cells}
			for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
				r.fields = append(r.fields, m[1])
			}
			s.rows = append(s.rows, r)
		}
	}
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if hashes := strings.TrimLeft(line, "#"); !code && hashes != line && strings.HasPrefix(hashes, " ") {
			end()
			title := hashes[1:]
			if strings.HasPrefix(line, "## ") {
				topic = ""
				if messageOf(title) != nil {
					topic = title
				}
			}
			list, text = append(list, section{title: title, topic: topic}), nil
			continue
		}
		text = append(text, line)
	}
	end()
	return list
}

// messageOf returns an empty event of an input topic, or nil for other names.
func messageOf(topic string) proto.Message {
	switch topic {
	case events.TopicMessages:
		return new(eventsv1.MessageEvent)
	case events.TopicReads:
		return new(eventsv1.ReadEvent)
	case events.TopicDeliveries:
		return new(eventsv1.DeliveryEvent)
	}
	return nil
}

// kindOf returns the schema's field of the kind that a section describes, or nil for other
// sections.
func kindOf(s *section) protoreflect.FieldDescriptor {
	if s.topic == "" {
		return nil
	}
	return messageOf(s.topic).ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields().ByName(protoreflect.Name(s.title))
}

// events returns the JSON examples of a section, one for each line of its blocks.
func (s *section) events() (list []string) {
	for _, b := range s.blocks {
		if b.language == "json" {
			list = append(list, strings.Split(strings.TrimSpace(b.text), "\n")...)
		}
	}
	return list
}

// all returns the blocks of the page in a language.
func all(list []section, language string) (texts []string) {
	for _, s := range list {
		for _, b := range s.blocks {
			if b.language == language {
				texts = append(texts, b.text)
			}
		}
	}
	return texts
}
