package source

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// maxLine bounds a line of NDJSON.
const maxLine = 16 << 20

// readNDJSON reads one JSON object per line. A string becomes its text, null and a missing field
// become NULL, and any other value becomes its JSON text.
func readNDJSON(ctx context.Context, name, table string, from io.Reader, fn func(*Row) error) error {
	s := bufio.NewScanner(from)
	s.Buffer(make([]byte, 64<<10), maxLine)
	row := &Row{Table: table}
	for line := 1; s.Scan(); line++ {
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(s.Bytes(), &fields); err != nil {
			return fmt.Errorf("%s: line %d is not a JSON object: %w", name, line, err)
		}
		row.Number++
		if err := row.take(fields); err != nil {
			return fmt.Errorf("%s: line %d: %w", name, line, err)
		}
		if err := fn(row); err != nil {
			return err
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%s: a line is longer than %d bytes", name, maxLine)
	}
	return s.Err()
}

// take replaces the fields of a row with those of an object.
func (r *Row) take(object map[string]json.RawMessage) error {
	r.columns, r.values, r.null = slices.Sorted(maps.Keys(object)), r.values[:0], r.null[:0]
	for _, column := range r.columns {
		text, null := string(object[column]), false
		switch {
		case text == "null":
			text, null = "", true
		case text[0] == '"':
			if err := json.Unmarshal(object[column], &text); err != nil {
				return fmt.Errorf("%s: %w", column, err)
			}
		}
		r.values, r.null = append(r.values, text), append(r.null, null)
	}
	return nil
}
