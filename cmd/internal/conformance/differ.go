package conformance

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Difference is a field of an answer that differs from the story.
type Difference struct {
	Field string `json:"field"`
	Got   string `json:"got"`
	Want  string `json:"want"`
}

// unordered lists have no order in the API, so they are compared by the user of each element.
var unordered = map[string]bool{"recipients": true, "readers": true}

// differences compares an answer with the expected one.
func (a *Ask) differences(answer map[string]any) []Difference {
	if a.Find == nil {
		return differ("", "", a.Want, answer)
	}
	list, _ := field(answer, a.Find.List).([]any)
	for _, e := range list {
		if len(differ("", "", a.Find.Where, e)) > 0 {
			continue
		}
		if a.Absent {
			return []Difference{{a.Find.List, text(a.Find.Where), "no such element"}}
		}
		return differ(strings.TrimSuffix(a.Find.List, "s"), "", a.Want, e)
	}
	if a.Absent {
		return nil
	}
	return []Difference{{a.Find.List, "no such element", text(a.Find.Where)}}
}

// differ compares a value of an answer with the expected value. name is its field, and path the way
// to it.
func differ(path, name string, want, got any) []Difference {
	wrong := []Difference{{path, text(got), text(want)}}
	switch want := want.(type) {
	case nil:
		if empty(got) {
			return nil
		}
		return wrong
	case map[string]any:
		m, ok := got.(map[string]any)
		if !ok && !empty(got) {
			return wrong
		}
		var out []Difference
		for _, k := range sortedKeys(want) {
			out = append(out, differ(strings.TrimPrefix(path+"."+k, "."), k, want[k], field(m, k))...)
		}
		return out
	case []any:
		list, ok := got.([]any)
		switch {
		case !ok && got != nil:
			return wrong
		case len(list) != len(want):
			return []Difference{{path, fmt.Sprintf("%d: %s", len(list), text(got)), fmt.Sprintf("%d: %s", len(want), text(want))}}
		case unordered[name]:
			return differByUser(path, want, list)
		}
		var out []Difference
		for i := range want {
			out = append(out, differ(fmt.Sprintf("%s[%d]", path, i), name, want[i], list[i])...)
		}
		return out
	}
	if empty(want) && empty(got) || same(name, want, got) {
		return nil
	}
	return wrong
}

func differByUser(path string, want, got []any) (out []Difference) {
	byUser := map[any]any{}
	for _, e := range got {
		if m, ok := e.(map[string]any); ok {
			byUser[field(m, "user_id")] = e
		}
	}
	for _, w := range want {
		user := field(w.(map[string]any), "user_id")
		at := fmt.Sprintf("%s[%v]", path, user)
		if byUser[user] == nil {
			out = append(out, Difference{at, "nothing", text(w)})
			continue
		}
		out = append(out, differ(at, "", w, byUser[user])...)
	}
	return out
}

// same compares two values that are neither objects nor lists. A number may be a text, because
// Protobuf's JSON writes 64-bit numbers so.
func same(name string, want, got any) bool {
	switch w := want.(type) {
	case bool:
		return got == w
	case string:
		g, ok := got.(string)
		if !ok {
			return false
		}
		if !times[name] {
			return g == w
		}
		a, err1 := time.Parse(time.RFC3339Nano, w)
		b, err2 := time.Parse(time.RFC3339Nano, g)
		return err1 == nil && err2 == nil && a.Equal(b.Truncate(time.Millisecond))
	case json.Number:
		switch g := got.(type) {
		case json.Number:
			return g == w
		case string:
			return g == w.String()
		}
	}
	return false
}

// empty reports whether a value is absent, the zero of its type, or an object of such values.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for _, e := range v {
			if !empty(e) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	case json.Number:
		return v == "0"
	}
	return reflect.ValueOf(v).IsZero()
}

// field is a field of an answer, in snake_case or lowerCamelCase.
func field(m map[string]any, name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	first, rest, found := strings.Cut(name, "_")
	if !found {
		return nil
	}
	for part := range strings.SplitSeq(rest, "_") {
		if part != "" {
			first += strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return m[first]
}
