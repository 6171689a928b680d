package bridge

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/product/live"
	"github.com/tidemark/tidemark/importer/rocketchat"
	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/config"
)

// rocketChat is the product that has documents of MongoDB in the place of rows.
const rocketChat = "rocketchat"

// Config describes a bridge.
type Config struct {
	Kafka   config.Kafka
	Prefix  string // of the topics' names
	Product string
	Slot    string // also the name of the import
	DSN     string // of the database; of rocketchat the folder of the dump
	Source  string // the same for messages, without user and password
	Log     *slog.Logger
	Metrics prometheus.Registerer // nil: none
	// Debezium is the prefix of Debezium's topics, which the bridge follows instead of a slot.
	Debezium string

	// Mapping and Changing are those of the product table.
	Mapping  product.Mapping
	Changing map[string]product.Changing

	spare   func() error          // called after each event and each batch; an error ends the bridge like a kill
	part    int                   // changes of one transaction that are written at once
	visible time.Duration         // how long a committed transaction may stay invisible
	reached func(source.LSN) bool // reports whether the bridge ends, because everything before a position is written
}

// follows returns the tables that the bridge follows.
func (c *Config) follows() []source.Followed {
	if c.Changing != nil {
		return product.ChangingTables(c.Changing)
	}
	if c.Product == rocketChat {
		return rocketchat.Follows
	}
	return live.Follows(c.Product)
}

// live returns the mapper of the changes.
func (c *Config) live(ctx context.Context, now source.Tables) (product.Live, error) {
	if c.Product == rocketChat {
		dump, err := source.OpenDump(c.DSN)
		if err != nil {
			return nil, refuse("--source: %w", err)
		}
		return rocketchat.New(ctx, dump, time.Now())
	}
	mapping, what := live.New(c.Product, now), c.Product
	if c.Changing != nil {
		mapping, what = product.NewTableLive(c.Mapping, c.Changing, now), "--mapping"
	}
	t, tables := mapping.(*product.TableLive)
	if !tables {
		return mapping, nil
	}
	err := t.Check(ctx)
	if errors.Is(err, source.ErrUnfit) {
		return nil, refuse("%s: %w", what, err)
	}
	return t, err
}
