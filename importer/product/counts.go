package product

import (
	"context"
	"fmt"
	"strconv"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product/internal/quote"
	"github.com/tidemark/tidemark/importer/source"
)

// counts reads the rows of a product's own numbers.
type counts struct {
	tables   source.Tables
	problems *importer.Problems
	columns  [4]string // of channel, user, thread and mentions; the number itself is unread
}

// read calls emit for each number of the users, of all users if there are none.
func (c counts) read(ctx context.Context, query string, users []string, emit func(importer.Count) error) (found bool, err error) {
	checked, wanted := false, map[string]bool{}
	for _, user := range users {
		wanted[user] = true
	}
	return c.tables.Rows(ctx, "counts", query, func(row *source.Row) error {
		for _, column := range []string{c.columns[0], c.columns[1], "unread"} {
			if !checked && !row.Has(column) {
				return fmt.Errorf("counts has no column %s: it needs %s, %s and unread", column, c.columns[0], c.columns[1])
			}
		}
		checked = true
		n := importer.Count{Channel: row.Text(c.columns[0]), User: row.Text(c.columns[1]), Thread: row.Text(c.columns[2])}
		if len(users) > 0 && !wanted[n.User] {
			return nil
		}
		unread, ok := c.number(row, "unread")
		if !ok {
			return nil
		}
		n.Unread = unread
		if mentions, ok := c.number(row, c.columns[3]); ok {
			n.Mentions = &mentions
		}
		return emit(n)
	})
}

// number parses a field. It reports false if there is no number in it.
func (c counts) number(row *source.Row, column string) (n int64, ok bool) {
	text := row.Text(column)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		c.problems.Add(importer.Origin{Table: row.Table, Row: row.Number}, column+" is no number: taken as none", strconv.Quote(text))
	}
	return n, err == nil
}

// literals returns texts as a list in SQL.
func literals(texts []string) string { return quote.Literals(texts) }

// Literal returns a text as a literal in SQL, where the database takes backslashes as they are.
func Literal(text string) string { return quote.Literal(text) }
