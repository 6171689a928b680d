package rocketchat

import (
	"context"
	"time"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/source"
)

// Follows are the collections whose changes matter.
var Follows = []source.Followed{{Table: "rocketchat_room"}, {Table: "rocketchat_subscription"}, {Table: "rocketchat_message"}}

// New knows what the dump that was imported has.
func New(ctx context.Context, dump source.Tables, now time.Time) (*Live, error) {
	l := &Live{memory{
		subscriptions: map[string]*subscription{}, messages: map[string]*message{}, members: map[[2]string]*subscription{}, at: map[string]string{},
		changed: map[string]string{}, oldest: now.Add(-kept).UnixMilli(),
	}}
	return l, l.read(ctx, dump)
}

// Divisible reports true.
func (*Live) Divisible() bool { return true }

// Transaction maps changes.
func (l *Live) Transaction(_ context.Context, tx *source.Transaction, p *importer.Problems, emit product.Emit) error {
	for i := range tx.Changes {
		x := &tx.Changes[i]
		c := &change{Row: x.Row, id: x.Row.Text("_id"), kind: x.Kind, commit: tx.Time.UnixMilli(), problems: p}
		c.send = func(e *importer.Event) error { return emit(c.origin(), e) }
		if c.kind != source.Removed && len(c.Columns()) == 1 {
			p.Add(c.origin(), "a change without its document: capture.mode must be change_streams_update_full; or the document was removed meanwhile", c.id)
			continue
		}
		var err error
		switch c.Table {
		case "rocketchat_room":
			err = l.room(c)
		case "rocketchat_subscription":
			err = l.subscription(c)
		case "rocketchat_message":
			err = l.message(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *Live) room(c *change) error {
	if c.kind != source.Removed {
		return nil // subscriptions say which rooms are direct
	}
	return c.send(&importer.Event{Kind: importer.KindChannelDeleted, Channel: c.id, At: c.commit})
}
