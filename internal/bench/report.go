// Package bench measures Tidemark on the machine it runs on: the fold alone, the whole path on a broker, serving, memory
// and disk. The unit is CPU seconds for a million input events (cpu-s/Mev), of all processes together: rates depend on
// what else the machine does, this much less.
package bench

import (
	"fmt"
	"io"
	"syscall"
	"text/tabwriter"
	"time"
)

// Result is one measured line.
type Result struct {
	Name string `json:"name"`
	// CPU is CPU seconds for a million input events, of this process, the brokers and Redis; 0 = not what is measured.
	CPU float64 `json:"cpu_s_per_mev,omitempty"`
	// Rate is input events a second.
	Rate float64 `json:"events_per_s,omitempty"`
	// Note says the rest: ratios, goals, sizes.
	Note string `json:"note,omitempty"`
}

// Print writes a table.
func Print(w io.Writer, results []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WHAT\tCPU-S/MEV\tEVENTS/S\tNOTE")
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", r.Name, number(r.CPU, "%.2f"), number(r.Rate, "%.0f"), r.Note)
	}
	return t.Flush()
}

func number(v float64, format string) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// selfCPU is what this process has used.
func selfCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
