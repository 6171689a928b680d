package term

import (
	"fmt"
	"io"
)

// Fields prints names and values in two columns.
type Fields struct {
	w     io.Writer
	names []string
	vals  []string
}

// NewFields returns fields that Print writes to w.
func NewFields(w io.Writer) *Fields { return &Fields{w: w} }

// Add adds a field; value is printed as fmt.Sprint does.
func (f *Fields) Add(name string, value any) {
	f.names = append(f.names, name)
	f.vals = append(f.vals, Printable(fmt.Sprint(value)))
}

// Print prints the fields, one a line, their values aligned.
func (f *Fields) Print() error {
	width := 0
	for _, n := range f.names {
		width = max(width, len(n))
	}
	for i, n := range f.names {
		if _, err := fmt.Fprintf(f.w, "%-*s  %s\n", width, n, f.vals[i]); err != nil {
			return err
		}
	}
	return nil
}
