package adopt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/compare"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
)

// compareFlags are the flags of the verbs that compare a product's numbers with Tidemark's.
type compareFlags struct {
	verbs.BrokersFlags
	verbs.TopicsFlags
	verbs.NodeFlags
	sourceFlags
	User  []string      `placeholder:"ID" help:"Only the numbers of this user; may be given several times."`
	Stall time.Duration `default:"2m" placeholder:"TIME" help:"Give up once the node has folded nothing more of the topics for this long (${default}). While it still advances, the command waits for it."`
}

func (f *compareFlags) checkAll() error {
	if err := errors.Join(f.check(), f.counted()); err != nil {
		return err
	}
	if f.Stall <= 0 {
		return fmt.Errorf("--stall %v: it must be longer than 0", f.Stall)
	}
	return f.Validate()
}

// policies has the rules by which each product counts.
var policies = map[string]*compare.Policy{
	"table": &compare.TablePolicy, "synapse": &compare.SynapsePolicy, "mattermost": &compare.MattermostPolicy, "discourse": &compare.DiscoursePolicy,
	"rocketchat": &compare.RocketChatPolicy, "zulip": &compare.ZulipPolicy, "tinode": &compare.TinodePolicy,
}

// compare compares, and calls fn with each result. tell prints the progress; it clears the line if
// the text is empty.
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
		return nil, fmt.Errorf("the import %s/%s is not finished: run its command again, and it continues where it stopped", f.Product, f.name())
	}
	cl, err := f.Client(a, kgo.DisableClientMetrics())
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	topics := f.Topics()
	progress := verbs.NewProgress(a, verb)
	tell := func(p importer.Progress) { progress.Walk(p.Phase, p.Done, p.Total) }
	if verb == "" {
		tell = func(importer.Progress) {}
	}
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
		Policy: policies[f.Product], Users: f.User, Sample: sample, Patience: f.Stall,
		Position: func(ctx context.Context) ([]string, error) { return f.position(ctx, topics.Inputs[:]) },
		Progress: tell, Line: fn,
	})
	if verb != "" {
		progress.End()
	}
	if err != nil {
		return nil, f.Explain(a, err)
	}
	return res, nil
}
