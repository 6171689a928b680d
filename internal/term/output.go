package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// PrintJSON prints v as one line.
func PrintJSON(w io.Writer, v any) error {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(escaped(out.Bytes()))
	return err
}

// escaped returns equal JSON without anything that a terminal executes. It escapes characters that
// package json leaves as they are, above all the control characters beyond ASCII, as \u0080.
func escaped(b []byte) []byte {
	if !bytes.ContainsFunc(b, moves) {
		return b
	}
	out := make([]byte, 0, len(b)+64)
	for _, r := range string(b) {
		if moves(r) {
			out = fmt.Appendf(out, "\\u%04x", r)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}

// moves reports whether printable replaces a character of JSON. JSON has already escaped those
// below U+0020.
func moves(r rune) bool { return r >= 0x7f && r < 0xa0 || turns(r) }

// PrintProto prints an answer as the API does: snake_case, zeros written out, one line.
func PrintProto(w io.Writer, m proto.Message) error {
	b, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil { // protojson varies its white space
		return err
	}
	out.WriteByte('\n')
	_, err = w.Write(escaped(out.Bytes()))
	return err
}

// Table prints rows with aligned columns. A column whose title ends in > is aligned to the right.
type Table struct {
	titles []string
	right  []bool
	Rows   [][]string
}

// NewTable returns a table without rows.
func NewTable(titles ...string) *Table {
	t := &Table{right: make([]bool, len(titles))}
	for i, title := range titles {
		title, t.right[i] = strings.CutSuffix(title, ">")
		t.titles = append(t.titles, title)
	}
	return t
}

// Row adds a row; cells are printed as fmt.Sprint does, empty ones as "-".
func (t *Table) Row(cells ...any) {
	row := make([]string, len(t.titles))
	for i, c := range cells {
		if row[i] = Printable(fmt.Sprint(c)); row[i] == "" {
			row[i] = "-"
		}
	}
	t.Rows = append(t.Rows, row)
}

// Lines returns the rows with their titles, each without trailing blanks.
func (t *Table) Lines() []string {
	width := make([]int, len(t.titles))
	all := append([][]string{t.titles}, t.Rows...)
	for _, row := range all {
		for i, c := range row {
			width[i] = max(width[i], Columns(c))
		}
	}
	lines := make([]string, len(all))
	for n, row := range all {
		var b strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", width[i]-Columns(c))
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

// Print prints the titles and the rows.
func (t *Table) Print(w io.Writer) error {
	_, err := fmt.Fprintln(w, strings.Join(t.Lines(), "\n"))
	return err
}

// Clock formats a time for people: the time of day if it is today, else with the date; empty for
// none.
func Clock(t time.Time) string {
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

// Plural returns "1 record" or "2 records".
func Plural[N int | int64 | uint32](n N, what string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
