package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// firstRows is how many rows are listed for each reason.
const firstRows = 3

// Problem is a reason why rows were skipped, or changed before they were imported.
type Problem struct {
	Reason string   `json:"reason"`
	Count  int64    `json:"count"`
	First  []string `json:"first"` // the first of them: table:row and content
}

// Problems collects rows that could not be mapped, and counts the rows that were read. No problem
// stops an import.
type Problems struct {
	by   map[string]*Problem
	rows map[string]int64 // by table
}

// Read records how many rows were read of a table; of several readings the largest.
func (p *Problems) Read(table string, rows int64) {
	if p.rows == nil {
		p.rows = map[string]int64{}
	}
	p.rows[table] = max(p.rows[table], rows)
}

// Add counts a row under a reason.
func (p *Problems) Add(o Origin, reason, what string) {
	if p.by == nil {
		p.by = map[string]*Problem{}
	}
	x := p.by[reason]
	if x == nil {
		x = &Problem{Reason: reason}
		p.by[reason] = x
	}
	x.Count++
	if len(x.First) < firstRows {
		if len(what) > 80 {
			what = strings.ToValidUTF8(what[:80], "") + "…"
		}
		x.First = append(x.First, fmt.Sprintf("%s:%d %s", o.Table, o.Row, what))
	}
}

// List returns the problems, the most frequent first.
func (p *Problems) List() []Problem {
	list := []Problem{}
	for _, x := range p.by {
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}
