// Package jsonwhy explains where JSON does not fit a schema. The text depends on the value alone,
// so every node gives the same reason for the same record. (The texts of protojson differ between
// builds and may quote the value, previews included.) Field and detail contain nothing of the value
// except positions and list indexes.
//
// It runs on values that protojson has refused, so it need not be fast.
//
//	jsonwhy.go  the walk over the value
//	tokens.go   its tokens, and the place and reason that it ends with
package jsonwhy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// MaxDepth is well above the nesting of the schemas. Why refuses deeper values instead of recursing
// into them, in unknown fields too.
const MaxDepth = 64

// Why finds the first place where JSON does not fit a message. It returns the field, empty for the
// whole value, and what is wrong there.
func Why(value []byte, md protoreflect.MessageDescriptor) (field, detail string) {
	w := walk{value: value, d: json.NewDecoder(bytes.NewReader(value))}
	w.d.UseNumber()
	w.take()
	if w.err == nil {
		w.object("", md, 1)
	}
	if w.err == nil {
		if w.take(); w.err == nil {
			w.fail("", "there is more after the end of the object")
		} else if errors.Is(w.eof, io.EOF) {
			w.err = nil
		}
	}
	if w.err == nil { // a fault that only protojson finds
		return "", "not JSON of this event"
	}
	return w.err.field, w.err.detail
}

// misfit is an error: where and how a value does not fit.
type misfit struct{ field, detail string }

// object checks a message, starting at its first brace.
func (w *walk) object(path string, md protoreflect.MessageDescriptor, depth int) {
	if w.token != json.Delim('{') {
		w.mismatch(path, "an object")
		return
	}
	seen := map[protoreflect.FieldNumber]bool{}
	chosen := map[protoreflect.Name]string{}
	for w.err == nil && w.d.More() {
		if w.take(); w.err != nil {
			w.in(path)
			return
		}
		name, _ := w.token.(string)
		w.text(path)
		f := md.Fields().ByJSONName(name)
		if f == nil {
			f = md.Fields().ByTextName(name)
		}
		if f == nil {
			w.skip(path, depth)
			continue
		}
		field := dotted(path, string(f.Name()))
		switch {
		case seen[f.Number()]:
			w.fail(field, "stands there twice")
			return
		case w.next(field) == nil && w.err == nil:
			seen[f.Number()] = true
			continue // null counts as missing
		}
		seen[f.Number()] = true
		if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
			if other, two := chosen[o.Name()]; two {
				w.fail(field, "stands beside "+other+", and there may be only one of them")
				return
			}
			chosen[o.Name()] = string(f.Name())
		}
		if f.IsList() {
			w.list(field, f, depth)
		} else {
			w.one(field, f, depth)
		}
	}
	w.end(path)
}

func (w *walk) list(field string, f protoreflect.FieldDescriptor, depth int) {
	if w.err == nil && w.token != json.Delim('[') {
		w.mismatch(field, "an array")
	}
	for i := 0; w.err == nil && w.d.More(); i++ {
		item := field + "[" + strconv.Itoa(i) + "]"
		w.next(item)
		w.one(item, f, depth)
	}
	w.end(field)
}

// one checks a single value, whose first token has been read.
func (w *walk) one(field string, f protoreflect.FieldDescriptor, depth int) {
	if w.err != nil {
		return
	}
	switch f.Kind() {
	case protoreflect.StringKind:
		if _, ok := w.token.(string); !ok {
			w.mismatch(field, "a string")
		}
		w.text(field)
	case protoreflect.BoolKind:
		if _, ok := w.token.(bool); !ok {
			w.mismatch(field, "true or false")
		}
	case protoreflect.EnumKind:
		w.enum(field, f.Enum())
	case protoreflect.MessageKind:
		switch {
		case f.Message().FullName() == "google.protobuf.Timestamp":
			w.time(field)
		case depth >= MaxDepth:
			w.fail(field, tooDeep)
		default:
			w.object(field, f.Message(), depth+1)
		}
	default: // uint32 is the only other numeric type of the inputs
		w.number(field)
	}
}

func (w *walk) number(field string) {
	const want = "an integer from 0 to 4294967295"
	var text string
	switch t := w.token.(type) {
	case json.Number:
		text = t.String()
	case string:
		text = t
	default:
		w.mismatch(field, want)
		return
	}
	if v, err := strconv.ParseFloat(text, 64); err != nil || v < 0 || v > math.MaxUint32 || v != math.Trunc(v) {
		w.fail(field, "must be "+want)
	}
}

func (w *walk) enum(field string, ed protoreflect.EnumDescriptor) {
	var names []string
	for i := range ed.Values().Len() {
		names = append(names, string(ed.Values().Get(i).Name()))
	}
	switch w.token.(type) {
	case string, json.Number: // names that this build does not have are ignored, like unknown fields
	default:
		w.mismatch(field, "one of "+strings.Join(names, ", "))
	}
}

func (w *walk) time(field string) {
	const want = `an RFC 3339 time, such as "2026-01-02T03:04:05.678Z"`
	s, ok := w.token.(string)
	if !ok {
		w.mismatch(field, "a string with "+want)
		return
	}
	if _, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return
	}
	if len(s) > 10 && s[10] == ' ' {
		w.fail(field, "must be "+want+": a T, no space, between date and time")
		return
	}
	w.fail(field, "must be "+want)
}
