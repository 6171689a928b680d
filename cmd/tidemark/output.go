package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// printJSON prints v as one line.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printProto prints an answer as the API does: snake_case, zeros written out, one line.
func printProto(w io.Writer, m proto.Message) error {
	b, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil { // protojson varies its white space
		return err
	}
	out.WriteByte('\n')
	_, err = w.Write(out.Bytes())
	return err
}

// table prints rows with aligned columns. A column whose title ends in > is aligned to the right.
type table struct {
	titles []string
	right  []bool
	rows   [][]string
}

func newTable(titles ...string) *table {
	t := &table{right: make([]bool, len(titles))}
	for i, title := range titles {
		title, t.right[i] = strings.CutSuffix(title, ">")
		t.titles = append(t.titles, title)
	}
	return t
}

// row adds a row; cells are printed as fmt.Sprint does, empty ones as "-".
func (t *table) row(cells ...any) {
	row := make([]string, len(t.titles))
	for i, c := range cells {
		if row[i] = printable(fmt.Sprint(c)); row[i] == "" {
			row[i] = "-"
		}
	}
	t.rows = append(t.rows, row)
}

// lines are the rows with their titles, each without trailing blanks.
func (t *table) lines() []string {
	width := make([]int, len(t.titles))
	all := append([][]string{t.titles}, t.rows...)
	for _, row := range all {
		for i, c := range row {
			width[i] = max(width[i], columns(c))
		}
	}
	lines := make([]string, len(all))
	for n, row := range all {
		var b strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", width[i]-columns(c))
			if i > 0 {
				b.WriteString("  ")
			}
			if t.right[i] {
				b.WriteString(pad + c)
			} else {
				b.WriteString(c + pad)
			}
		}
		lines[n] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

func (t *table) print(w io.Writer) error {
	_, err := fmt.Fprintln(w, strings.Join(t.lines(), "\n"))
	return err
}

// clock is a time for people: of day if it is of this day, else with the date; empty for none.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.Local()
	if y, m, d := t.Date(); time.Date(y, m, d, 0, 0, 0, 0, t.Location()).Equal(today()) {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04:05")
}

func today() time.Time {
	y, m, d := time.Now().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.Local)
}

// plural is "1 record" or "2 records".
func plural[N int | int64 | uint32](n N, what string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
