package jsonwhy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// walk goes through a value token by token. It stops at the first error.
type walk struct {
	value []byte
	d     *json.Decoder

	token json.Token // the last one
	at    int        // where it starts, in bytes
	err   *misfit
	eof   error // the decoder's error, if it was that
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

// skip skips the value of an unknown field.
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

const tooDeep = "nested too deeply"
