package product

import (
	"context"
	"fmt"

	"github.com/tidemark/tidemark/importer"
)

// table is a table to read.
type table struct {
	name, query string
	columns     []string
	as          func(fields, *importer.Event) bool
}

// all reads tables in order. Each must exist; what names the source that has all of them.
func (r *reading) all(ctx context.Context, list []table, what string) error {
	for _, t := range list {
		found, err := r.table(ctx, t.name, t.query, t.columns, t.as)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("the source has no table %s: is it %s?", t.name, what)
		}
	}
	return nil
}
