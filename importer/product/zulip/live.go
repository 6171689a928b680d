package zulip

import (
	"context"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/product/internal/change"
	"github.com/tidemark/tidemark/importer/source"
)

// Transaction maps a transaction. Its messages come first, in one query, and its flags last,
// because these decide together where a user's pointer is.
func (l *Live) Transaction(ctx context.Context, tx *source.Transaction, p *importer.Problems, emit product.Emit) error {
	l.reads, l.order = map[[2]string]bool{}, nil
	var messages []*change.Change
	last := &change.Change{Ctx: ctx, Commit: tx.Time.UnixMilli(), Problems: p, Emit: emit}
	for i := range tx.Changes {
		x := &tx.Changes[i]
		c := &change.Change{Row: x.Row, Ctx: ctx, Kind: x.Kind, Commit: last.Commit, Problems: p, Emit: emit}
		last.Row = x.Row
		var err error
		switch c.Table {
		case "zerver_stream":
			err = l.stream(c)
		case "zerver_subscription":
			err = l.subscription(c)
		case "zerver_message":
			messages = append(messages, c)
		case "zerver_usermessage":
			l.flagged(c, x.Before)
		}
		if err != nil {
			return err
		}
	}
	if err := l.messages(ctx, messages); err != nil {
		return err
	}
	return l.read(last)
}
