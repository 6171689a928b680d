package conformance

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// names are the fields with ids: of users, channels, messages and threads.
var names = map[string]bool{
	"channel_id": true, "user_id": true, "of_user_id": true, "sender_id": true, "user_ids": true, "mentions": true, "hidden_from": true,
	"message_id": true, "message_ids": true, "thread_id": true, "head_message_id": true, "up_to_message_id": true,
}

// times are the fields with milliseconds since the start of the story.
var times = map[string]bool{
	"occurred_at": true, "time": true, "up_to_time": true, "until": true, "evaluated_at": true,
	"at": true, "delivered_at": true, "read_at": true, "viewed_at": true,
}

// counted is the placeholder for the number in the ids of an event with Times.
const counted = "{n}"

// binding gives a story ids that no other run has, and times in the past.
type binding struct {
	prefix string // of all ids
	start  time.Time
}

// bind returns v with the ids and times of the run. n replaces {n}, and later is added to the time
// of an event.
func (b *binding) bind(key string, v any, n string, later int64) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = b.bind(k, e, n, later)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = b.bind(key, e, n, later)
		}
		return out
	case string:
		if n != "" {
			v = strings.ReplaceAll(v, counted, n)
		}
		if names[key] && v != "" {
			v = b.prefix + v
		}
		return v
	case json.Number:
		ms, err := v.Int64()
		if !times[key] || err != nil {
			return v
		}
		if key == "occurred_at" {
			ms += later
		}
		return b.start.Add(time.Duration(ms) * time.Millisecond).UTC().Format(time.RFC3339Nano)
	}
	return v
}

// object binds the values of an object.
func (b *binding) object(v map[string]any) map[string]any {
	if v == nil {
		return nil
	}
	return b.bind("", v, "", 0).(map[string]any)
}

// events returns the events of a step, one by one.
func (b *binding) events(list []Event) (out []any) {
	for _, e := range list {
		if e.Times == 0 {
			out = append(out, b.object(e.Event))
			continue
		}
		for i := range e.Times {
			out = append(out, b.bind("", e.Event, strconv.Itoa(e.First+i), int64(i)*e.EveryMS))
		}
	}
	return out
}

// ask returns a query with its expected answer.
func (b *binding) ask(a *Ask) *Ask {
	out := *a
	out.Request, out.Want = b.object(a.Request), b.object(a.Want)
	if a.Find != nil {
		out.Find = &Find{List: a.Find.List, Where: b.object(a.Find.Where)}
	}
	return &out
}

// plain removes the ids of the run from a text for people.
func (b *binding) plain(s string) string { return strings.ReplaceAll(s, b.prefix, "") }
