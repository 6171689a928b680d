package bridge

import (
	"context"
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/config"
)

// Config describes a bridge.
type Config struct {
	Kafka   config.Kafka
	Prefix  string // of the topics' names
	Product string
	Slot    string // also the name of the import
	DSN     string // of the database
	Source  string // the same for messages, without user and password
	Log     *slog.Logger
	Metrics prometheus.Registerer // nil: none
	// Debezium is the prefix of the topics of Debezium that are followed in the place of the slot.
	Debezium string

	// Mapping and Changing are those of the product table.
	Mapping  product.Mapping
	Changing map[string]product.Changing

	spare   func() error          // called after each event and after each batch: an error ends the bridge as a kill would
	part    int                   // changes of a transaction that are written at once
	reached func(source.LSN) bool // whether the bridge ends once everything before a position is written
}

// follows returns the tables that the bridge follows.
func (c *Config) follows() []source.Followed {
	if c.Changing != nil {
		return product.ChangingTables(c.Changing)
	}
	return product.Follows(c.Product)
}

// live returns what maps the changes.
func (c *Config) live(ctx context.Context, now source.Tables) (product.Live, error) {
	if c.Changing == nil {
		return product.NewLive(c.Product, now), nil
	}
	t := product.NewTableLive(c.Mapping, c.Changing, now)
	err := t.Check(ctx)
	if errors.Is(err, source.ErrUnfit) {
		return nil, refuse("--mapping: %w", err)
	}
	return t, err
}
