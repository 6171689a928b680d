package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/letters"
)

type deadlettersReplayCmd struct {
	letterFlags
	DryRun bool `help:"Only say what would be written."`
	Force  bool `help:"Write records, too, that this build would refuse again."`
}

func (deadlettersReplayCmd) Help() string {
	return `
Writes records to the topics that they came from, with their channel as key and their own timestamps. Those that this build
would still refuse are left out and counted. Events may be replayed twice: posts with a known message id and reads change
nothing the second time; a marked_unread counts again in the read epoch. The dead letters themselves stay until they expire,
so choose by --since, --reason or --at.

Example:

    tidemark deadletters replay --reason undecodable --since 24h --dry-run
    tidemark deadletters replay --at 0/17,2/4`
}

// replayCounts is what a replay did.
type replayCounts struct {
	Read     int   `json:"read"`     // letters that were chosen
	Replayed int64 `json:"replayed"` // written, or that would be
	Bad      int   `json:"bad"`      // left out: refused again
	DryRun   bool  `json:"dry_run"`
}

// replayProgress is how often a long replay says how far it is.
const replayProgress = 2 * time.Second

// Run replays.
func (c *deadlettersReplayCmd) Run(a *app) error {
	cl, err := c.client(a,
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.ProducerBatchMaxBytes(events.MaxValueBytes+128<<10),
		kgo.RecordDeliveryTimeout(time.Minute),
	)
	if err != nil {
		return err
	}
	defer cl.Close()
	var (
		n      = replayCounts{DryRun: c.DryRun}
		acked  atomic.Int64
		failed atomic.Pointer[error]
		check  letters.Checker
		said   = time.Now()
	)
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	err = c.each(a, func(l letters.Letter) error {
		if err := failed.Load(); err != nil {
			return *err
		}
		n.Read++
		r, err := l.Again(&check, c.Force)
		if err != nil {
			n.Bad++
			fmt.Fprintf(a.stderr, "left out %s from %s: %v\n", l.Place(), l.Origin(), err)
			return nil
		}
		if c.DryRun {
			n.Replayed++
			if !c.JSON {
				fmt.Fprintf(a.stdout, "would write %s (%s) to %s with key %s\n", l.Place(), l.Reason, r.Topic, printable(string(r.Key)))
			}
			return nil
		}
		cl.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				err = fmt.Errorf("dead letter %s was not written to %s: %w", l.Place(), l.Topic, err)
				failed.CompareAndSwap(nil, &err)
				return
			}
			acked.Add(1)
		})
		if time.Since(said) > replayProgress {
			said = time.Now()
			fmt.Fprintf(a.stderr, "%d read, %d written\n", n.Read, acked.Load())
		}
		return nil
	})
	err = errors.Join(err, cl.Flush(a.ctx))
	if !c.DryRun {
		n.Replayed = acked.Load()
	}
	if f := failed.Load(); f != nil && err == nil {
		err = *f
	}
	return errors.Join(c.summary(a, n), err)
}

func (c *deadlettersReplayCmd) summary(a *app, n replayCounts) error {
	if c.JSON {
		return printJSON(a.stdout, n)
	}
	verb := "written"
	if c.DryRun {
		verb = "would be written"
	}
	_, err := fmt.Fprintf(a.stdout, "%s chosen, %d %s, %d left out because this build would refuse them again\n",
		plural(n.Read, "dead letter"), n.Replayed, verb, n.Bad)
	return err
}
