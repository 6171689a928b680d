package rocketchat

import (
	"maps"
	"slices"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// Live maps the changes of a server's documents.
type Live struct{ memory }

// change is a change of a document.
type change struct {
	*source.Row
	id       string
	kind     source.ChangeKind
	commit   int64
	problems *importer.Problems
	send     func(*importer.Event) error
}

func (c *change) origin() importer.Origin { return importer.Origin{Table: c.Table, Row: c.Number} }

// dumped is how far the dump may be from the order of the changes: its cursor and their commits
// differ.
const dumped = 1000

// before reports whether a change was made before the dump. A document that the dump lacks was
// removed before it then.
func (l *Live) before(c *change, at int64) bool {
	newest := l.newest[c.Table]
	if c.kind == source.Removed {
		newest = slices.Max(slices.Collect(maps.Values(l.newest)))
	}
	return at > 0 && at < newest-dumped
}
