package gauge

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Result is one measured line.
type Result struct {
	Name string `json:"name"`
	// CPU is CPU seconds per million input events, of this process, the brokers and Redis together;
	// 0 if it was not measured.
	CPU float64 `json:"cpu_s_per_mev,omitempty"`
	// Rate is input events a second.
	Rate float64 `json:"events_per_s,omitempty"`
	// Goals are the figures that the line should reach.
	Goals []Goal `json:"goals,omitempty"`
	// Note has further figures: shares, sizes.
	Note string `json:"note,omitempty"`
}

// Goal is a figure and its bound.
type Goal struct {
	What    string  `json:"what"` // with its unit
	Got     float64 `json:"got"`
	Limit   float64 `json:"limit"`
	AtLeast bool    `json:"at_least,omitempty"` // else at most
	Met     bool    `json:"met"`
}

// AtMost returns a goal that is met by limit or less.
func AtMost(what string, got, limit float64) Goal {
	return Goal{What: what, Got: got, Limit: limit, Met: got <= limit}
}

// AtLeast returns a goal that is met by limit or more.
func AtLeast(what string, got, limit float64) Goal {
	return Goal{What: what, Got: got, Limit: limit, AtLeast: true, Met: got >= limit}
}

func (g Goal) String() string {
	bound, verdict := "at most", "met"
	if g.AtLeast {
		bound = "at least"
	}
	if !g.Met {
		verdict = "NOT MET"
	}
	return fmt.Sprintf("%.3g %s, %s %g: %s", g.Got, g.What, bound, g.Limit, verdict)
}

// Print writes a table. A line with several goals has a row for each.
func Print(w io.Writer, results []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WHAT\tCPU-S/MEV\tEVENTS/S\tGOAL\tNOTE")
	for _, r := range results {
		goal := "-"
		if len(r.Goals) > 0 {
			goal = r.Goals[0].String()
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", r.Name, number(r.CPU, "%.2f"), number(r.Rate, "%.0f"), goal, r.Note)
		for _, g := range r.Goals[min(1, len(r.Goals)):] {
			fmt.Fprintf(t, "\t\t\t%s\t\n", g)
		}
	}
	return t.Flush()
}

func number(v float64, format string) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}
