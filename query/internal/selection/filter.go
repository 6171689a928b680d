package selection

import (
	"slices"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/fault"
)

// Filter selects the channels of a list. The zero Filter leaves archived ones out.
type Filter struct {
	UnreadOnly bool
	Label      string // only channels with this label; empty: all
	Archived   Archived
}

// Archived selects archived channels.
type Archived byte

// The values of Archived.
const (
	WithoutArchived Archived = iota
	OnlyArchived
	AllArchived
)

var archivedNames = [...]string{WithoutArchived: "without", OnlyArchived: "only", AllArchived: "all"}

// ParseArchived parses the value in a request.
func ParseArchived(s string) (Archived, error) {
	if i := slices.Index(archivedNames[:], s); i >= 0 {
		return Archived(i), nil
	}
	if s == "" {
		return WithoutArchived, nil
	}
	return 0, fault.Invalid("archived is %.100q, want without, only or all", s)
}

// drops reports whether the list leaves a channel out. s may be nil.
func (f *Filter) drops(unread bool, s *projections.Standing) bool {
	switch {
	case f.UnreadOnly && !unread, f.Archived == OnlyArchived && !archived(s), f.Archived == WithoutArchived && archived(s):
		return true
	}
	return f.Label != "" && (s == nil || !slices.Contains(s.ChannelLabels, f.Label) && !slices.Contains(s.OwnLabels, f.Label))
}

func archived(s *projections.Standing) bool { return s != nil && s.Archived }
