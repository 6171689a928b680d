package conformance

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// Story is a chat to write to a service, with the answers that the service must give.
type Story struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	Source Source `json:"source"`
	SpanMS int64  `json:"span_ms"` // the last time in the story, since its start
	Steps  []Step `json:"steps"`
}

// Source is the origin of a story.
type Source struct {
	File    string `json:"file"`              // in this project's tests
	Product string `json:"product,omitempty"` // the product whose users reported it
	Issue   string `json:"issue,omitempty"`   // the number of the report there
}

// Step is a line of a story: events, or a query.
type Step struct {
	Line   string  `json:"line"` // for people
	Events []Event `json:"events,omitempty"`
	Ask    *Ask    `json:"ask,omitempty"`
	Answer string  `json:"answer,omitempty"` // to Ask, for people
}

// Event is an element of the events of Publish. Its times are milliseconds since the start of the
// story. With Times it stands for this many events: {n} in ids counts from First, and each event
// comes EveryMS after the one before.
type Event struct {
	Times   int            `json:"times,omitempty"`
	First   int            `json:"first,omitempty"`
	EveryMS int64          `json:"every_ms,omitempty"`
	Event   map[string]any `json:"event"`
}

// Ask is a call of the query service, and the expected answer. Only the fields in Want are
// compared. A field that is null there must be absent from the answer; an absent field of an answer
// is the zero of its type.
type Ask struct {
	Method  string         `json:"method"`
	Request map[string]any `json:"request"`
	Error   string         `json:"error,omitempty"` // the code that the call must fail with
	Find    *Find          `json:"find,omitempty"`
	Want    map[string]any `json:"want,omitempty"`
	Absent  bool           `json:"absent,omitempty"` // Find must find nothing
}

// Find picks one element of a list of the answer. Want is then compared with this element.
type Find struct {
	List  string         `json:"list"`
	Where map[string]any `json:"where"`
}

//go:embed stories.json
var embedded []byte

// Stories returns all stories, in the order of the file.
func Stories() ([]Story, error) {
	var file struct {
		Stories []Story `json:"stories"`
	}
	if err := decode(embedded, &file); err != nil {
		return nil, fmt.Errorf("read the stories of this build: %w", err)
	}
	return file.Stories, nil
}

// text writes a value for people: as JSON in one line.
func text(v any) string {
	if v == nil {
		return "nothing"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
