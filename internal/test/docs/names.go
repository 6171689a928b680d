package docs

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Left stands in the result of Names where a page leaves fields out.
const Left = "..."

// leftOut makes JSON of an object or list in which a page leaves something out.
var leftOut = strings.NewReplacer(", ... ", `,"...":0,`, ", ...}", `,"...":0}`, ",...}", `,"...":0}`, "[...]", "[]", "{...}", "{}")

// Names returns the names of the fields of an object, in their order. A path leads to an object
// inside of it: each element names a field, and if the field has a list, its first element counts.
func Names(object string, path ...string) (names []string, err error) {
	raw := json.RawMessage(leftOut.Replace(object))
	for _, name := range path {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(raw, &fields); err != nil {
			return nil, fmt.Errorf("%w in %s", err, raw)
		}
		raw = fields[name]
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
			raw = list[0]
		}
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil, errors.Join(err, fmt.Errorf("not an object: %s", raw))
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("%w in %s", err, raw)
		}
		names = append(names, name.(string)) // the decoder refuses others
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("%w in %s", err, raw)
		}
	}
	return names, nil
}

// SameNames reports whether names are those that a page shows, in the same order. Left stands for
// any number of names.
func SameNames(names, shown []string) bool {
	for i, name := range shown {
		switch {
		case name == Left:
			rest := shown[i+1:]
			return len(names) >= len(rest) && SameNames(names[len(names)-len(rest):], rest)
		case len(names) == 0 || names[0] != name:
			return false
		}
		names = names[1:]
	}
	return len(names) == 0
}
