// Package jsonwhy explains where JSON does not fit a schema. The text depends on the value alone,
// so every node gives the same reason for the same record. (The texts of protojson differ between
// builds and may quote the value, previews included.) Field and detail contain nothing of the value
// except positions and list indexes.
//
// It runs on values that protojson has refused, so it need not be fast.
//
//	jsonwhy.go  the walk over the value
package jsonwhy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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
	if w.err == nil { // what only protojson minds
		return "", "not JSON of this event"
	}
	return w.err.field, w.err.detail
}

// misfit is an error: where and how a value does not fit.
type misfit struct{ field, detail string }

// walk goes through a value token by token. It stops at the first error.
type walk struct {
	value []byte
	d     *json.Decoder

	token json.Token // the last one
	at    int        // where it starts, in bytes
	err   *misfit
	eof   error // what the decoder said, if it was that
}

// take reads the next token.
func (w *walk) take() {
	w.at = int(w.d.InputOffset())
	for w.at < len(w.value) && strings.IndexByte(" \t\r\n,:", w.value[w.at]) >= 0 {
		w.at++
	}
	var err error
	switch w.token, err = w.d.Token(); {
	case err == nil:
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		w.at, w.eof = len(w.value), err
		w.fail("", "the JSON ends too early")
	default:
		w.fail("", "no valid JSON")
	}
}

// fail records an error at the last token.
func (w *walk) fail(field, detail string) {
	if w.err != nil {
		return
	}
	before := w.value[:w.at]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	w.err = &misfit{field, fmt.Sprintf("%s (line %d, column %d)", detail, line, column)}
}

// in sets the field of an error that has none yet.
func (w *walk) in(field string) {
	if w.err != nil && w.err.field == "" {
		w.err.field = field
	}
}

// object checks a message, from its first brace on.
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
			continue // null: as if it were not there
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

// next reads the value of a field.
func (w *walk) next(field string) json.Token {
	if w.err == nil {
		w.take()
		w.in(field)
	}
	return w.token
}

// end reads the closing bracket.
func (w *walk) end(path string) {
	if w.err == nil {
		w.take()
		w.in(path)
	}
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

// one checks a single value, whose first token was read.
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
	default: // the inputs have no other numbers than uint32
		w.number(field)
	}
}

const tooDeep = "nested too deeply"

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
	case string, json.Number: // names that this build does not know are left out, as unknown fields are
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

// text checks that the token, if it is a string, is UTF-8, escapes included.
func (w *walk) text(field string) {
	if w.err != nil {
		return
	}
	raw := w.value[w.at:w.d.InputOffset()]
	s, _ := w.token.(string)
	if !utf8.Valid(raw) || strings.ContainsRune(s, utf8.RuneError) && !bytes.ContainsRune(raw, utf8.RuneError) &&
		!bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`)) {
		w.fail(field, "text that is not valid UTF-8")
	}
}

// skip passes over the value of a field that no event has.
func (w *walk) skip(path string, depth int) {
	for open := depth; w.err == nil; {
		w.take()
		w.in(path)
		w.text(path)
		switch w.token {
		case json.Delim('{'), json.Delim('['):
			if open++; open > MaxDepth {
				w.fail(path, tooDeep)
			}
		case json.Delim('}'), json.Delim(']'):
			open--
		}
		if open == depth {
			return
		}
	}
}

// mismatch records which kind of value was found and which was expected.
func (w *walk) mismatch(field, want string) {
	is := "null"
	switch t := w.token.(type) {
	case string:
		is = "a string"
	case json.Number:
		is = "a number"
	case bool:
		is = "true or false"
	case json.Delim:
		is = map[json.Delim]string{'{': "an object", '[': "an array"}[t]
	}
	w.fail(field, "is "+is+", must be "+want)
}

func dotted(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
