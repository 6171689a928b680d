// Package bench measures Tidemark on the machine it runs on: the fold alone, the whole path on a broker, serving, memory
// and disk. The unit is CPU seconds for a million input events (cpu-s/Mev), of all processes together: rates depend on
// what else the machine does, this much less.
//
//	report.go  a measured line, its goals, and how they are printed
//	cpu.go     CPU time of this process and of the servers
//	folder.go  one partition driven without a processor; fold.go and memory.go measure with it
//	stage.go   a mix in topics of its own; echo.go the floor on it, zset.go the design compared with
//	run.go     a processor, and a cache role, on a stage; live.go measures with it; steady.go at a rate at which it keeps up
//	handover.go  for how long nobody answers when a partition moves; seat.go the members that it moves between
//	snapshot.go  snapshots: what they upload, and the time to serve again
//	replay.go  stores rebuilt from the topics, beside a bare consume
//	serve.go   a node that answers, and what its clients wait for
//	gateway.go sockets: what they wait for; storm.go what they take, and many that come at once; frames.go how many
//	           frames they are sent; sockets.go the gateway; swarm.go and bare.go its clients, in another process
package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Result is one measured line.
type Result struct {
	Name string `json:"name"`
	// CPU is CPU seconds for a million input events, of this process, the brokers and Redis; 0 = not what is measured.
	CPU float64 `json:"cpu_s_per_mev,omitempty"`
	// Rate is input events a second.
	Rate float64 `json:"events_per_s,omitempty"`
	// Goals are what the line should reach.
	Goals []Goal `json:"goals,omitempty"`
	// Note says the rest: shares, sizes.
	Note string `json:"note,omitempty"`
}

// Goal is a figure beside what it should be.
type Goal struct {
	What    string  `json:"what"` // with its unit
	Got     float64 `json:"got"`
	Limit   float64 `json:"limit"`
	AtLeast bool    `json:"at_least,omitempty"` // else at most
	Met     bool    `json:"met"`
}

func atMost(what string, got, limit float64) Goal {
	return Goal{What: what, Got: got, Limit: limit, Met: got <= limit}
}

func atLeast(what string, got, limit float64) Goal {
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

// Print writes a table; the second goal of a line and those after it have rows of their own.
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
