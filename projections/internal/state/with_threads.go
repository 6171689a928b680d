package state

import "github.com/tidemark/tidemark/projections/internal/held"

// EnsureWithThreads returns the reads with_threads of a row's extra, and creates them if needed.
func (p *State) EnsureWithThreads(r *Row) *held.WithThreads {
	x := p.EnsurePairExtra(r)
	if x.WithThreads == nil {
		x.WithThreads = &held.WithThreads{}
	}
	return x.WithThreads
}

// HasMarks reports whether the row is of a thread and has marks. The reach of reads with_threads
// there depends on the order of marks and reads.
func (p *State) HasMarks(r *Row) bool { return r.Flags&RowThread != 0 && p.RareOf(r).Marks > 0 }
