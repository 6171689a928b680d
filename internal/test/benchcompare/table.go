package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/tidemark/tidemark/app/bench/gauge"
)

// figures has what the runs of one binary measured, by the name of the line and the figure.
type figures map[figure][]float64

// figure names one number that is measured.
type figure struct{ line, what string }

// put adds a number.
func (f figures) put(at figure, value float64) { f[at] = append(f[at], value) }

// parse takes the output of `tidemark bench --json`, one gauge.Result a line, and hands its figures
// to note in their order. It fails for a line that is no result.
func parse(output []byte, note func(at figure, value float64)) error {
	s := bufio.NewScanner(bytes.NewReader(output))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var r gauge.Result
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			return fmt.Errorf("the bench printed %q: %w", s.Text(), err)
		}
		if r.CPU > 0 {
			note(figure{r.Name, "cpu-s/Mev"}, r.CPU)
		}
		for _, g := range r.Goals {
			if g.What != "cpu-s/Mev" {
				note(figure{r.Name, g.What}, g.Got)
			}
		}
	}
	return s.Err()
}

// print writes a table of the lowest figure of each binary, with its range and the ratio. A figure
// that only one of them has is shown without a ratio.
func print(w io.Writer, order []figure, base, head figures) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WHAT\tFIGURE\tBASE\tHEAD\tHEAD/BASE")
	for _, at := range order {
		ratio := "-"
		if b, h := base[at], head[at]; len(b) > 0 && len(h) > 0 && slices.Min(b) > 0 {
			ratio = fmt.Sprintf("%.3f", slices.Min(h)/slices.Min(b))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", at.line, at.what, span(base[at]), span(head[at]), ratio)
	}
	return t.Flush()
}

// span is the lowest of some figures, and the highest if there are several.
func span(all []float64) string {
	switch len(all) {
	case 0:
		return "-"
	case 1:
		return fmt.Sprintf("%.3g", all[0])
	}
	return fmt.Sprintf("%.3g to %.3g", slices.Min(all), slices.Max(all))
}
