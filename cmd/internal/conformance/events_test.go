package conformance

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/test/script"
)

// eventsOf returns records as elements of Publish, with times since the start of the story.
func eventsOf(t *testing.T, records []script.Record) (list []Event) {
	t.Helper()
	for i := range records {
		value, err := records[i].Value()
		if err != nil {
			t.Fatal(err)
		}
		var m proto.Message
		name := "message"
		switch records[i].Input {
		case events.Messages:
			m = &eventsv1.MessageEvent{}
		case events.Reads:
			m, name = &eventsv1.ReadEvent{}, "read"
		default:
			m, name = &eventsv1.DeliveryEvent{}, "delivery"
		}
		if err := proto.Unmarshal(value, m); err != nil {
			t.Fatal(err)
		}
		b, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var e map[string]any
		if err := decode(b, &e); err != nil {
			t.Fatal(err)
		}
		delete(e, "min_version") // Publish states it
		list = append(list, Event{Event: map[string]any{name: relative(t, "", e)}})
	}
	return list
}

// relative replaces times by milliseconds since the start.
func relative(t *testing.T, key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = relative(t, k, e)
		}
	case string:
		if !times[key] {
			return v
		}
		at, err := time.Parse(time.RFC3339Nano, v)
		if err != nil {
			t.Fatal(err)
		}
		return json.Number(strconv.FormatInt(at.UnixMilli()-script.Start, 10))
	}
	return v
}

// fewest events that are worth being written as a run.
const fewest = 8

var numbered = regexp.MustCompile(`\d+$`)

// runs writes events that differ in a number only as one.
func runs(list []Event) (out []Event) {
	for i := 0; i < len(list); {
		n := 1
		first := firstNumber(list[i])
		for i+n < len(list) && first >= 0 && shapeOf(list[i+n], first+n) == shapeOf(list[i], first) &&
			occurred(list[i+n])-occurred(list[i]) == int64(n)*1000 {
			n++
		}
		if n < fewest {
			out = append(out, list[i])
			i++
			continue
		}
		run := Event{Times: n, First: first, EveryMS: 1000}
		if err := decode([]byte(text(templated(list[i].Event, "", first))), &run.Event); err != nil {
			panic(err)
		}
		out = append(out, run)
		i += n
	}
	return out
}

// firstNumber is the number at the end of the id of a message, -1 if there is none.
func firstNumber(e Event) int {
	n := -1
	visit(e.Event, func(key string, s string) {
		if key == "message_id" {
			if i, err := strconv.Atoi(numbered.FindString(s)); err == nil {
				n = i
			}
		}
	})
	return n
}

func visit(v any, f func(key, s string)) {
	var walk func(key string, v any)
	walk = func(key string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				walk(k, e)
			}
		case []any:
			for _, e := range v {
				walk(key, e)
			}
		case string:
			f(key, v)
		}
	}
	walk("", v)
}

// templated has {n} in the place of a number at the end of texts.
func templated(v any, key string, n int) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = templated(e, k, n)
		}
		return out
	case []any:
		var out []any
		for _, e := range v {
			out = append(out, templated(e, key, n))
		}
		return out
	case string:
		if key != "preview" && numbered.FindString(v) == strconv.Itoa(n) {
			return strings.TrimSuffix(v, strconv.Itoa(n)) + counted
		}
	}
	return v
}

// shapeOf is an event without its number and its time.
func shapeOf(e Event, n int) string {
	v := templated(e.Event, "", n).(map[string]any)
	for _, of := range v {
		delete(of.(map[string]any), "occurred_at")
	}
	return text(v)
}

func occurred(e Event) int64 {
	for _, of := range e.Event {
		if n, ok := of.(map[string]any)["occurred_at"].(json.Number); ok {
			ms, _ := n.Int64()
			return ms
		}
	}
	return 0
}
