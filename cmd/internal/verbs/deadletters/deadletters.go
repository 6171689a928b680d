package deadletters

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/letters"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
)

// Cmd is `tidemark deadletters`.
type Cmd struct {
	List   listCmd   `cmd:"" help:"List bad records."`
	Replay replayCmd `cmd:"" help:"Write bad records to their topics again, after a fix."`
}

// Help has an example.
func (Cmd) Help() string {
	return `
Records that could not be used are copied to tidemark.dead-letters, with the reason and their
origin.

Example:

    tidemark deadletters list --reason undecodable --since 24h
    tidemark deadletters replay --reason undecodable --since 24h --dry-run`
}

// letterFlags choose dead letters.
type letterFlags struct {
	verbs.BrokersFlags
	verbs.TopicsFlags
	verbs.JSONFlag
	Reason []string      `placeholder:"REASON" help:"Only these reasons."`
	Topic  []string      `placeholder:"TOPIC" help:"Only those from these topics."`
	Since  time.Duration `placeholder:"DURATION" help:"Only those written within this time before now, such as 24h."`
	At     []string      `placeholder:"PLACE" help:"Only these, by partition/offset, as list shows them."`
}

func (f *letterFlags) wants(l *letters.Letter) bool {
	return (len(f.Reason) == 0 || slices.Contains(f.Reason, l.Reason)) &&
		(len(f.Topic) == 0 || slices.Contains(f.Topic, l.Topic)) &&
		(len(f.At) == 0 || slices.Contains(f.At, l.Place())) &&
		(f.Since == 0 || time.Since(l.Written) <= f.Since)
}

// each calls fn for the requested letters among those that exist when it is called.
func (f *letterFlags) each(a *verbs.App, fn func(letters.Letter) error) error {
	cl, err := f.Client(a)
	if err != nil {
		return err
	}
	spans, err := verbs.SpansOf(a.Ctx, kadm.NewClient(cl), f.Topics().DeadLetters)
	cl.Close()
	if err != nil {
		return err
	}
	return verbs.ReadSpans(a, f.BrokersFlags, f.Topics().DeadLetters, spans, func(r *kgo.Record) error {
		if l := letters.Of(r); f.wants(&l) {
			return fn(l)
		}
		return nil
	})
}
