package product

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// times are the layouts of times that are text. Times without a zone are in UTC.
var times = []string{
	"2006-01-02 15:04:05.999999999Z07", "2006-01-02 15:04:05.999999999Z07:00", time.RFC3339Nano, "2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999", "2006-01-02",
}

// at parses a time into Unix milliseconds. The text is a number since 1970, whose size decides
// between seconds, milliseconds, microseconds and nanoseconds, or one of the layouts of times. 0 is
// not a time.
func at(text string) (millis int64, ok bool) {
	if text == "" {
		return 0, true
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		const century = 1e11 // so milliseconds before 1973 are taken for seconds
		switch {
		case n < century && n > -century:
			n *= 1000
		case n >= 1e17:
			n /= 1e6
		case n >= 1e14:
			n /= 1000
		}
		if n < -1e17 || n > 1e17 {
			return 0, false
		}
		return int64(n), true
	}
	for _, layout := range times {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UnixMilli(), true
		}
	}
	return 0, false
}

// truth parses a boolean.
func truth(text string) (yes, ok bool) {
	switch strings.ToLower(text) {
	case "", "f", "false", "0", "no", "n":
		return false, true
	case "t", "true", "1", "yes", "y":
		return true, true
	}
	return false, false
}

// list parses a list of ids: a JSON array, a PostgreSQL array, or ids separated by commas.
func list(text string) []string {
	var ids []string
	if strings.HasPrefix(text, "[") && json.Unmarshal([]byte(text), &ids) == nil {
		return ids
	}
	if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") {
		text = text[1 : len(text)-1]
	}
	for id := range strings.SplitSeq(text, ",") {
		if id = strings.Trim(strings.TrimSpace(id), `"`); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// fields parses the fields of a row, and records malformed ones as problems.
type fields struct {
	*source.Row
	problems *importer.Problems
}

func (f fields) origin() importer.Origin { return importer.Origin{Table: f.Table, Row: f.Number} }

func (f fields) at(column string) int64 {
	text := f.Text(column)
	millis, ok := at(text)
	if !ok {
		f.problems.Add(f.origin(), column+" is no time: taken as none", strconv.Quote(text))
	}
	return millis
}

func (f fields) truth(column string) bool {
	yes, ok := truth(f.Text(column))
	if !ok {
		f.problems.Add(f.origin(), column+" is neither yes nor no: taken as no", strconv.Quote(f.Text(column)))
	}
	return yes
}

func (f fields) seq(column string) uint32 {
	text := f.Text(column)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		f.problems.Add(f.origin(), column+" is no number of a message: taken as none", strconv.Quote(text))
	}
	return uint32(n)
}

// reading reads tables of a source.
type reading struct {
	tables   source.Tables
	problems *importer.Problems
	emit     func(importer.Origin, *importer.Event) error
}

// table reads a table. as maps a row to an event, and reports whether the row has one.
func (r *reading) table(ctx context.Context, name, query string, columns []string, as func(fields, *importer.Event) bool) (found bool, err error) {
	checked, rows := false, int64(0)
	found, err = r.tables.Rows(ctx, name, query, func(row *source.Row) error {
		for _, column := range columns {
			if !checked && !row.Has(column) {
				return fmt.Errorf("%s has no column %s: it needs %s", name, column, strings.Join(columns, ", "))
			}
		}
		checked, rows = true, row.Number
		var e importer.Event
		f := fields{row, r.problems}
		if !as(f, &e) {
			return nil
		}
		return r.emit(f.origin(), &e)
	})
	if found {
		r.problems.Read(name, rows)
	}
	return found, err
}
