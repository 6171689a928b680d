package adopt

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/term"
)

// Import is `tidemark import`.
type Import struct {
	verbs.BrokersFlags
	verbs.TopicsFlags
	verbs.JSONFlag
	sourceFlags
	verbs.YesFlag
	DropSlot bool   `env:"-" help:"Remove the replication slot --slot after a confirmation, print how much WAL it held back, and import nothing."`
	Since    string `placeholder:"90d" help:"Write the messages of this time before now, and a count of older ones for each channel; by default all messages."`
	Beside   bool   `help:"Allow topics that already have records, of other channels."`
	DryRun   bool   `help:"Read and map everything, print what would be written, and write nothing."`
}

// Help is shown below the flags.
func (Import) Help() string {
	return `
Writes the history of another chat product as events: messages, members, read pointers, followed threads, mutes. It only reads the
source. Import into new topics, before a gateway or a live producer writes there. The same command continues an import that
stopped for any reason. docs/import has a page for each product: rights, what is mapped and what is not.

With --slot it creates a replication slot in the database, imports the slot's snapshot, and tidemark bridge continues from there.
The database keeps its log (WAL) for the slot until the bridge has read it: do not leave a slot without a bridge. The slot needs
publications; if they are missing the import prints the SQL for them and stops.

Example:

    tidemark topics create --topic-prefix v2.
    tidemark import table --source ./export --topic-prefix v2. --dry-run
    tidemark import table --source postgres://reader@db/chat --mapping table.yml --since 90d --topic-prefix v2.
    tidemark import synapse --source postgres://reader@db/synapse --since 90d --topic-prefix v2.
    tidemark import mattermost --source postgres://reader@db/mattermost --since 90d --topic-prefix v2.
    tidemark import discourse --source postgres://reader@db/discourse --since 90d --topic-prefix v2.
    tidemark import rocketchat --source ./dump/rocketchat --since 90d --topic-prefix v2.
    tidemark import zulip --source postgres://reader@db/zulip --since 90d --topic-prefix v2.
    tidemark import tinode --source postgres://reader@db/tinode --since 90d --topic-prefix v2.
    tidemark import slack --source ./export --topic-prefix v2.
    tidemark import mattermost --source postgres://reader@db/mattermost --slot chat --topic-prefix v2.
    tidemark import table --source postgres://reader@db/chat --mapping table.yml --slot chat --topic-prefix v2.
    tidemark import mattermost --source postgres://reader@db/mattermost --slot chat --drop-slot`
}

// Validate checks the flags.
func (c *Import) Validate() error {
	if _, err := days(c.Since); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	if c.DropSlot && c.Product != "" && c.follows() == nil {
		return errors.New("--drop-slot removes a replication slot: name it with --slot, and with --source a database of synapse, mattermost or discourse, or of table with live in its mapping")
	}
	return nil
}

// days is a duration that may be given in days; "" is none.
func days(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if n, found := strings.CutSuffix(text, "d"); found {
		var whole int
		whole, err = strconv.Atoi(n)
		d = time.Duration(whole) * 24 * time.Hour
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("--since %q is not a duration: write it as 90d or 36h", text)
	}
	return d, nil
}

// Run imports.
func (c *Import) Run(a *verbs.App) error {
	mapping, err := c.mapping()
	if err == nil {
		_, err = c.changing()
	}
	if err != nil {
		return err
	}
	if c.DropSlot {
		return c.dropSlot(a)
	}
	kafka, err := c.Kafka()
	if err != nil {
		return err
	}
	since, _ := days(c.Since) // Validate has checked it
	conf := importer.Config{
		Kafka: kafka, Prefix: c.TopicPrefix, Product: c.Product, Slot: c.name(), Since: since, DryRun: c.DryRun, Beside: c.Beside,
	}
	slot, err := c.makeSlot(a, conf)
	if errors.Is(err, importer.ErrDone) {
		return c.done(a, err)
	}
	if err != nil {
		return err
	}
	sum, err := c.from(a, mapping, conf, slot)
	if errors.Is(err, importer.ErrDone) {
		return c.done(a, err)
	}
	if err != nil {
		return c.slotLeft(a, conf, slot, err)
	}
	if slot != nil {
		retained, err := source.RetainedBy(a.Ctx, c.Source, c.Slot)
		if err != nil {
			return err
		}
		sum.Retained = retained.String()
	}
	if c.JSON {
		return term.PrintJSON(a.Stdout, sum)
	}
	return printImport(a, sum)
}

// from imports as of the moment of a slot; nil means now.
func (c *Import) from(a *verbs.App, mapping product.Mapping, conf importer.Config, slot *source.Slot) (*importer.Summary, error) {
	snapshot := ""
	if slot != nil {
		snapshot, conf.LSN = slot.Snapshot, slot.At.String()
	}
	from, name, release, err := c.open(a, mapping, snapshot)
	if slot != nil {
		slot.Close(a.Ctx)
	}
	if err != nil {
		return nil, err
	}
	defer release()
	conf.Source, conf.Moment = name, c.moment
	progress := verbs.NewProgress(a, "import")
	defer progress.End()
	conf.Progress = func(p importer.Progress) { progress.Walk(p.Phase, p.Done, p.Total) }
	return importer.Run(a.Ctx, conf, from)
}

// done reports that there is nothing to import.
func (c *Import) done(a *verbs.App, err error) error {
	fmt.Fprintf(a.Stderr, "tidemark: %s/%s: %v; another --topic-prefix begins a new one\n", c.Product, c.name(), err)
	return nil
}

// printImport prints the result of an import.
func printImport(a *verbs.App, s *importer.Summary) error {
	f := term.NewFields(a.Stdout)
	for _, table := range slices.Sorted(maps.Keys(s.Rows)) {
		f.Add(table, term.Plural(s.Rows[table], "row"))
	}
	if s.Since != nil {
		f.Add("older than", fmt.Sprintf("%s: a count of %s", s.Since.Format(time.RFC3339), term.Plural(s.Seeded, "message")))
	}
	wrote := "wrote"
	if s.DryRun {
		wrote = "would write"
	}
	f.Add(wrote, fmt.Sprintf("%s of messages, %s of reads, of %s",
		term.Plural(s.Messages, "event"), term.Plural(s.Reads, "event"), term.Plural(s.Channels, "channel")))
	if s.Before > 0 {
		f.Add("of these", term.Plural(s.Before, "event")+" by an earlier call")
	}
	if s.Retained != "" {
		f.Add("slot", s.Retained)
	}
	f.Add("took", fmt.Sprintf("%.1f s", s.Seconds))
	if err := f.Print(); err != nil {
		return err
	}
	for _, p := range s.Problems {
		fmt.Fprintf(a.Stdout, "%s: %s\n", term.Plural(p.Count, "row"), term.Printable(p.Reason))
		for _, row := range p.First {
			fmt.Fprintf(a.Stdout, "    %s\n", term.Printable(row))
		}
	}
	return nil
}
