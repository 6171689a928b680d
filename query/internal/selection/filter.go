package selection

import (
	"slices"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/fault"
)

// Filter says which channels a list has. The zero Filter leaves the archived ones out.
type Filter struct {
	UnreadOnly bool
	Label      string // only channels that have it; empty: all
	Archived   Archived
}

// Archived says which archived channels a list has.
type Archived byte

// The archived channels of a list.
const (
	WithoutArchived Archived = iota
	OnlyArchived
	AllArchived
)

var archivedNames = [...]string{WithoutArchived: "without", OnlyArchived: "only", AllArchived: "all"}

// ParseArchived is what a request says.
func ParseArchived(s string) (Archived, error) {
	if i := slices.Index(archivedNames[:], s); i >= 0 {
		return Archived(i), nil
	}
	if s == "" {
		return WithoutArchived, nil
	}
	return 0, fault.Invalid("archived is %.100q, want without, only or all", s)
}

// drops reports whether the list does not have a channel. What was said of it may be nil.
func (f *Filter) drops(unread bool, s *projections.Standing) bool {
	switch {
	case f.UnreadOnly && !unread, f.Archived == OnlyArchived && !archived(s), f.Archived == WithoutArchived && archived(s):
		return true
	}
	return f.Label != "" && (s == nil || !slices.Contains(s.ChannelLabels, f.Label) && !slices.Contains(s.OwnLabels, f.Label))
}

func archived(s *projections.Standing) bool { return s != nil && s.Archived }
