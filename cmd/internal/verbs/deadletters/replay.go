package deadletters

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/letters"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/term"
)

type replayCmd struct {
	letterFlags
	DryRun bool `help:"Only print what would be written."`
	Force  bool `env:"-" help:"Also write records that this build would refuse again."`
}

func (replayCmd) Help() string {
	return `
Writes records to the topics that they came from, with their channel as key and their own timestamps. It skips and counts those
that this build would still refuse. Events may be replayed twice: posts with a known message id and reads change nothing the
second time; a marked_unread counts again in the read epoch. The dead letters themselves stay until they expire, so select with
--since, --reason or --at. A letter may have any age. If one cannot be written, the others are; it is named and counted, and the
exit code is 1.

Example:

    tidemark deadletters replay --reason undecodable --since 24h --dry-run
    tidemark deadletters replay --at 0/17,2/4`
}

// ReplayTally counts the outcomes of letters with one reason.
type ReplayTally struct {
	Written int `json:"written"`  // or would be written
	LeftOut int `json:"left_out"` // this build would refuse them again
	Failed  int `json:"failed"`   // no broker accepted them
}

// ReplayCounts counts the outcomes of a replay.
type ReplayCounts struct {
	Read     int  `json:"read"`     // chosen letters
	Replayed int  `json:"replayed"` // written, or would be written
	Bad      int  `json:"bad"`      // left out: refused again
	Failed   int  `json:"failed"`   // not written
	DryRun   bool `json:"dry_run"`

	Reasons map[string]ReplayTally `json:"by_reason"`
}

const (
	// replayProgress is how often a long replay prints its progress.
	replayProgress = 2 * time.Second
	// replayPatience is how long brokers may take to acknowledge one letter. It is a deadline of
	// the call, because kgo.RecordDeliveryTimeout counts from a record's own timestamp, which is
	// the event's.
	replayPatience = time.Minute
)

// replaying is a replay in progress. Promises of the client run beside it.
type replaying struct {
	*replayCmd
	client *kgo.Client
	check  letters.Checker

	mu     sync.Mutex
	counts ReplayCounts
	lost   error // no broker answers any more, so the replay ends
}

// Run replays.
func (c *replayCmd) Run(a *verbs.App) error {
	cl, err := c.Client(a,
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.ProducerBatchMaxBytes(events.MaxValueBytes+128<<10),
	)
	if err != nil {
		return err
	}
	defer cl.Close()
	r := &replaying{replayCmd: c, client: cl,
		counts: ReplayCounts{DryRun: c.DryRun, Reasons: map[string]ReplayTally{}}}
	printed := time.Now()
	err = c.each(a, func(l letters.Letter) error {
		if err := r.one(a, l); err != nil {
			return err
		}
		if time.Since(printed) > replayProgress {
			printed = time.Now()
			n := r.sofar()
			r.print(a, fmt.Sprintf("%d read, %d written", n.Read, n.Replayed))
		}
		return nil
	})
	err = errors.Join(err, cl.Flush(a.Ctx))
	n := r.sofar()
	if err == nil && n.Failed > 0 {
		err = fmt.Errorf("%s not written: replay them again by --at", term.Plural(n.Failed, "dead letter"))
	}
	return errors.Join(c.summary(a, n), err)
}

// one writes a letter, or returns the reason why not.
func (r *replaying) one(a *verbs.App, l letters.Letter) error {
	rec, err := l.ToWrite(&r.check, r.Force)
	r.mu.Lock()
	lost := r.lost
	r.counts.Read++
	r.mu.Unlock()
	switch {
	case lost != nil:
		return lost
	case err != nil:
		r.print(a, fmt.Sprintf("left out %s from %s: %s", l.Place(), term.Printable(l.Origin()), term.Printable(err.Error())))
		r.count(&l, func(n *ReplayCounts, t *ReplayTally) { n.Bad++; t.LeftOut++ })
	case r.DryRun:
		r.count(&l, func(n *ReplayCounts, t *ReplayTally) { n.Replayed++; t.Written++ })
		if !r.JSON {
			fmt.Fprintf(a.Stdout, "would write %s (%s) to %s with key %s\n", l.Place(), term.Printable(l.Reason), term.Printable(rec.Topic), term.Printable(string(rec.Key)))
		}
	default:
		ctx, cancel := context.WithTimeoutCause(a.Ctx, replayPatience, fmt.Errorf("not acknowledged within %s", replayPatience))
		r.client.Produce(ctx, rec, func(_ *kgo.Record, err error) {
			r.written(a, &l, err)
			cancel()
		})
	}
	return nil
}

// written records the result for a letter that was sent.
func (r *replaying) written(a *verbs.App, l *letters.Letter, err error) {
	if err == nil {
		r.count(l, func(n *ReplayCounts, t *ReplayTally) { n.Replayed++; t.Written++ })
		return
	}
	err = fmt.Errorf("dead letter %s was not written to %s: %w", l.Place(), term.Printable(l.Topic), err)
	r.count(l, func(n *ReplayCounts, t *ReplayTally) {
		n.Failed++
		t.Failed++
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			r.lost = err
		}
	})
	r.print(a, err.Error())
}

func (r *replaying) print(a *verbs.App, line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintln(a.Stderr, line)
}

func (r *replaying) count(l *letters.Letter, add func(*ReplayCounts, *ReplayTally)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.counts.Reasons[l.Reason]
	add(&r.counts, &t)
	r.counts.Reasons[l.Reason] = t
}

func (r *replaying) sofar() ReplayCounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}

func (c *replayCmd) summary(a *verbs.App, n ReplayCounts) error {
	if c.JSON {
		return term.PrintJSON(a.Stdout, n)
	}
	verb := "written"
	if c.DryRun {
		verb = "would be written"
	}
	_, err := fmt.Fprintf(a.Stdout, "%s chosen, %d %s, %d left out because this build would refuse them again, %d failed\n",
		term.Plural(n.Read, "dead letter"), n.Replayed, verb, n.Bad, n.Failed)
	if err != nil || n.Read == 0 {
		return err
	}
	t := term.NewTable("REASON", "WRITTEN>", "LEFT OUT>", "FAILED>")
	for _, reason := range slices.Sorted(maps.Keys(n.Reasons)) {
		of := n.Reasons[reason]
		t.Row(reason, of.Written, of.LeftOut, of.Failed)
	}
	return t.Print(a.Stdout)
}
