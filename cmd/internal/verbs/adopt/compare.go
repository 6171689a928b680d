package adopt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/compare"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/term"
)

// compareFlags are those of the verbs that compare a product's numbers with ours.
type compareFlags struct {
	verbs.BrokersFlags
	verbs.TopicsFlags
	verbs.NodeFlags
	sourceFlags
	User []string `placeholder:"ID" help:"Only the numbers of this user; may be given several times."`
}

// Compare is the verb of that name.
type Compare struct {
	compareFlags
	verbs.JSONFlag
	Sample int  `default:"1000" placeholder:"N" help:"Compare the numbers of so many users, each time of the same ones (${default})."`
	All    bool `help:"Compare the numbers of all users."`
}

// Help is shown below the flags.
func (Compare) Help() string {
	return `
Reads the numbers that another chat product has for its users, and those of Tidemark, and says why they differ:

    equal           both have the same
    policy          the product counts something else by intention
    theirs_wrong    the product's number is not true by its own rows
    ours_wrong      Tidemark's number is wrong, or an input is missing: the messages are named
    not_comparable  one side cannot have such a number
    moved           it changed each time that it was read

It only reads both. A pair whose numbers differ is read again, so one that moves meanwhile is not judged. Exit code 3 where
theirs or ours is wrong. docs/import has a page for each product.

Example:

    tidemark compare table --source ./export
    tidemark compare table --source postgres://reader@db/chat --mapping table.yml --user ann --json
    tidemark compare mattermost --source postgres://reader@db/mattermost --topic-prefix v2. --all`
}

// Validate checks what stands on the command line.
func (c *Compare) Validate() error {
	if c.Sample < 1 {
		return fmt.Errorf("--sample %d: it must be at least 1, and --all compares all", c.Sample)
	}
	return c.checkAll()
}

func (f *compareFlags) checkAll() error {
	if err := errors.Join(f.check(), f.counted()); err != nil {
		return err
	}
	return f.Validate()
}

// Run compares and prints what it found.
func (c *Compare) Run(a *verbs.App) error {
	mapping, err := c.mapping()
	if err != nil {
		return err
	}
	var lines []compare.Line
	sample := c.Sample
	if c.All {
		sample = 0
	}
	res, err := c.compare(a, "compare", mapping, sample, func(l *compare.Line) error {
		if c.JSON {
			return term.PrintJSON(a.Stdout, l)
		}
		if l.Bucket != compare.Equal {
			lines = append(lines, *l)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !c.JSON {
		if err := printComparison(a, res, lines); err != nil {
			return err
		}
	}
	if res.Buckets[compare.TheirsWrong]+res.Buckets[compare.OursWrong] > 0 {
		return verbs.ErrDifferences
	}
	return nil
}

// policies has what the numbers of each product mean.
var policies = map[string]*compare.Policy{
	"table": &compare.TablePolicy, "synapse": &compare.SynapsePolicy, "mattermost": &compare.MattermostPolicy, "discourse": &compare.DiscoursePolicy,
	"rocketchat": &compare.RocketChatPolicy, "zulip": &compare.ZulipPolicy,
}

// patienceOfCompare is how long a node may need to fold what is in the topics.
const patienceOfCompare = 2 * time.Minute

// compare compares, and calls fn with each result.
func (f *compareFlags) compare(a *verbs.App, verb string, mapping product.Mapping, sample int, fn func(*compare.Line) error) (*compare.Result, error) {
	kafka, err := f.Kafka()
	if err != nil {
		return nil, err
	}
	state, err := importer.Load(a.Ctx, importer.Config{Kafka: kafka, Prefix: f.TopicPrefix, Product: f.Product, Slot: f.name()})
	if err != nil {
		return nil, err
	}
	if state != nil && !state.Done() {
		return nil, fmt.Errorf("the import %s/%s is not done: give its command again, it goes on where it was", f.Product, f.name())
	}
	cl, err := f.Client(a, kgo.DisableClientMetrics())
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	topics := f.Topics()
	progress := verbs.NewProgress(a, verb)
	res, err := compare.Run(a.Ctx, compare.Config{
		Open: func(context.Context) (importer.Counter, func(), error) {
			from, _, release, err := f.open(a, mapping, "")
			return from, release, err
		},
		Node: f.Service(),
		Ends: func(ctx context.Context) ([]string, error) {
			tokens, _, err := kafkaadmin.Newest(ctx, kadm.NewClient(cl), topics.Inputs[:]...)
			return tokens, err
		},
		Policy: policies[f.Product], Users: f.User, Sample: sample, Patience: patienceOfCompare,
		Progress: func(p importer.Progress) { progress.Walk(p.Phase, p.Done, p.Total) },
		Line:     fn,
	})
	progress.End()
	if err != nil {
		return nil, f.Explain(a, err)
	}
	return res, nil
}

// byBucket orders lines by bucket, then by user, channel and thread.
func byBucket(a, b compare.Line) int {
	return cmp.Or(cmp.Compare(slices.Index(compare.Buckets, a.Bucket), slices.Index(compare.Buckets, b.Bucket)),
		cmp.Compare(a.User, b.User), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Thread, b.Thread))
}

// printComparison prints a histogram and the numbers that differ.
func printComparison(a *verbs.App, res *compare.Result, lines []compare.Line) error {
	fmt.Fprintf(a.Stdout, "%s of %s compared\n\n", term.Plural(res.Pairs, "number"), term.Plural(res.Users, "user"))
	t := term.NewTable("BUCKET", "NUMBERS>", "SHARE>")
	for _, b := range compare.Buckets {
		t.Row(b, res.Buckets[b], fmt.Sprintf("%.2f %%", 100*float64(res.Buckets[b])/float64(max(res.Pairs, 1))))
	}
	if err := t.Print(a.Stdout); err != nil {
		return err
	}
	if len(lines) > 0 {
		slices.SortFunc(lines, byBucket)
		fmt.Fprintln(a.Stdout)
		t = term.NewTable("BUCKET", "USER", "CHANNEL", "THREAD", "THEIRS>", "OURS>", "REASON")
		for i := range lines {
			l := &lines[i]
			t.Row(l.Bucket, term.Printable(l.User), term.Printable(l.Channel), term.Printable(l.Thread), l.Theirs, l.Ours, term.Printable(l.Reason))
		}
		if err := t.Print(a.Stdout); err != nil {
			return err
		}
	}
	for _, p := range res.Problems {
		fmt.Fprintf(a.Stdout, "%s: %s\n", term.Plural(p.Count, "row"), term.Printable(p.Reason))
	}
	return nil
}
