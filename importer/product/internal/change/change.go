// Package change has the change of a row as a bridge's mapper receives it.
package change

import (
	"context"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/source"
)

// Change is a change of a row in a transaction.
type Change struct {
	*source.Row
	Ctx      context.Context
	Kind     source.ChangeKind
	Commit   int64 // time of the commit, Unix milliseconds
	Problems *importer.Problems
	Emit     product.Emit
}

// Origin names the row.
func (c *Change) Origin() importer.Origin { return importer.Origin{Table: c.Table, Row: c.Number} }

// Send emits an event of the row.
func (c *Change) Send(e *importer.Event) error { return c.Emit(c.Origin(), e) }
