package adopt

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/importer/bridge"
	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/obs"
)

// Bridge is `tidemark bridge`.
type Bridge struct {
	verbs.BrokersFlags
	verbs.TopicsFlags
	Product   string `arg:"" enum:"synapse,mattermost,discourse,rocketchat,zulip,tinode,table" help:"The product: synapse, mattermost, discourse, rocketchat (with --debezium), zulip, tinode, or table for a team's own tables."`
	Source    string `required:"" placeholder:"URL|PATH" help:"The postgres:// address of the database, without a password: that is in $$PGPASSWORD or ~/.pgpass. For rocketchat the folder of the dump that was imported."`
	Slot      string `placeholder:"NAME" help:"Replication slot that the import made."`
	Debezium  string `placeholder:"TOPIC-PREFIX" help:"Instead of --slot: follow the topics that Debezium writes with this topic.prefix. The bridge then reads from the database only what their rows refer to."`
	Mapping   string `placeholder:"FILE" help:"For table: the YAML file of the import, with the tables to follow (live)."`
	Listen    string `placeholder:"HOST:PORT" help:"Where to serve health and metrics; by default nowhere."`
	LogFormat string `enum:"text,json" default:"text" placeholder:"FORMAT" help:"Form of log lines: text or json (${default})."`
	LogLevel  string `enum:"debug,info,warn,error" default:"info" placeholder:"LEVEL" help:"Lowest level of log lines: debug, info, warn or error (${default})."`
}

// Help is shown below the flags.
func (Bridge) Help() string {
	return `
Follows the database of another chat product, and writes its changes as events, until you stop it. It begins where an import with
the same --slot ended, and writes every change exactly once, even after a crash. It keeps its position in the topics, so it can
continue on another machine; a second bridge of the same name takes over from the first. It only reads the database. Each minute
it logs how far it is behind and how much WAL the slot holds back; with --listen there are metrics of both. docs/import has a page
for each product.

With --debezium it reads the topics of Debezium's connector for PostgreSQL, or for MongoDB (rocketchat), in JSON, from the same
brokers. Start the connector first, then import without --slot (for rocketchat a dump that began after that), then start the
bridge: it skips the changes that the import includes. Zulip and Tinode have a bridge with --slot only.

Example:

    tidemark import mattermost --source postgres://reader@db/mattermost --slot chat --topic-prefix v2.
    tidemark bridge mattermost --source postgres://reader@db/mattermost --slot chat --topic-prefix v2. --listen 127.0.0.1:8082
    tidemark bridge table --source postgres://reader@db/chat --mapping table.yml --slot chat --topic-prefix v2.
    tidemark bridge mattermost --source postgres://reader@db/mattermost --debezium cdc --topic-prefix v2.
    tidemark bridge rocketchat --source ./dump/rocketchat --debezium rc --topic-prefix v2.`
}

func (c *Bridge) source() *sourceFlags {
	return &sourceFlags{Product: c.Product, Source: c.Source, Slot: c.Slot, Mapping: c.Mapping}
}

// Validate checks the flags.
func (c *Bridge) Validate() error {
	if c.Source == "" || c.Product == "" {
		return nil // kong names what is missing
	}
	switch {
	case c.Slot == "" && c.Debezium == "":
		return errors.New("no source of changes is named: name the replication slot with --slot, or the topics of Debezium with --debezium")
	case c.Slot != "" && c.Debezium != "":
		return errors.New("--slot and --debezium read the same changes in two ways: give only one of them")
	}
	if c.Debezium != "" && (c.Product == "zulip" || c.Product == "tinode") {
		return fmt.Errorf("--debezium has no mapping for %s: name the replication slot of its import with --slot", c.Product)
	}
	if c.Product == "rocketchat" && c.Slot != "" {
		return errors.New("MongoDB has no replication slots: let Debezium's connector for MongoDB write the changes, and name its topics with --debezium")
	}
	return c.source().check()
}

// Run follows the database until it is interrupted.
func (c *Bridge) Run(a *verbs.App) error {
	log, err := obs.NewLogger(a.Stderr, c.LogFormat, c.LogLevel)
	if err != nil {
		return err
	}
	kafka, err := c.Kafka()
	if err != nil {
		return err
	}
	name, err := c.source().title(a)
	if err != nil {
		return err
	}
	mapping, err := c.source().mapping()
	if err != nil {
		return err
	}
	changing, err := c.source().changing()
	if err != nil {
		return err
	}
	if c.Product == "table" && changing == nil {
		return verbs.Usagef("--mapping %s does not name the tables to follow: add a part live, as in docs/import/table.yml", c.Mapping)
	}
	metrics := obs.NewRegistry(a.Build)
	b := bridge.New(bridge.Config{
		Kafka: kafka, Prefix: c.TopicPrefix, Product: c.Product, Slot: c.source().name(), Debezium: c.Debezium, DSN: c.Source, Source: name, Log: log, Metrics: metrics,
		Mapping: mapping, Changing: changing,
	})
	stop, err := serve(c.Listen, b.Ready, log, metrics)
	if err != nil {
		return err
	}
	defer stop()
	if err := b.Run(a.Ctx); a.Ctx.Err() == nil {
		return err
	}
	if c.Debezium != "" {
		return nil
	}
	retained, err := source.RetainedBy(context.WithoutCancel(a.Ctx), c.Source, c.Slot)
	if err != nil {
		return nil // the error may come from the database connection that the stop closed
	}
	log.Info("the bridge has stopped; its slot stays, and the database keeps its log", "slot", retained.String())
	return nil
}
