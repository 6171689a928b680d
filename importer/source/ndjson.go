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
			return fmt.Errorf("%s: line %d is no JSON object: %w", name, line, err)
		}
		row.Number++
		row.columns, row.values, row.null = slices.Sorted(maps.Keys(fields)), row.values[:0], row.null[:0]
		for _, column := range row.columns {
			text, null := string(fields[column]), false
			switch {
			case text == "null":
				text, null = "", true
			case text[0] == '"':
				if err := json.Unmarshal(fields[column], &text); err != nil {
					return fmt.Errorf("%s: line %d: %s: %w", name, line, column, err)
				}
			}
			row.values, row.null = append(row.values, text), append(row.null, null)
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
