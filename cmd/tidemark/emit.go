package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/term"
)

type emitCmd struct {
	verbs.BrokersFlags
	verbs.TopicsFlags
	verbs.JSONFlag
	Topic string `placeholder:"TOPIC" help:"Topic of lines that are bare events: chat.messages, chat.reads or chat.deliveries."`
}

func (emitCmd) Help() string {
	return `
Reads one JSON object a line from standard input: ` + "`{\"topic\": \"chat.messages\", \"event\": {...}}`" + `, or with --topic the bare event. It checks each event, writes it with its channel as key, and prints its place in the log as
topic/partition/offset: a token for --after of a query. Lines and --topic name topics without their --topic-prefix. It leaves out
unknown fields with a warning on standard error. A bad line ends the run; earlier lines are written. emit states the min_version
that an event needs, and refuses an event at which this version of Tidemark would stop.

Example:

    echo '{"topic":"chat.messages","event":{"channel_id":"general","message_posted":{"message_id":"m1","sender_id":"bob"}}}' \
        | tidemark emit

    echo '{"channel_id":"general","user_id":"ann","read_up_to":{"message_id":"m1"}}' | tidemark emit --topic chat.reads

A user's settings of a channel are lines of chat.reads such as these; a service's settings are lines of chat.messages:

    {"channel_id":"general","user_id":"ann","notify_set":{"level":"MENTIONS","until":"2030-01-01T08:00:00Z"}}
    {"channel_id":"general","user_id":"ann","flag_set":{"flagged":true}}
    {"channel_id":"general","user_id":"ann","channel_filed":{"archived":true}}
    {"channel_id":"general","user_id":"ann","messages_hidden":{"message_ids":["m1"]}}
    {"channel_id":"general","user_id":"ann","messages_viewed":{"message_ids":["m1"]}}
    {"channel_id":"general","user_id":"ann","line_set":{"message_id":"m1"}}
    {"channel_id":"general","user_id":"ann","labels_set":{"labels":["family"]}}

    echo '{"channel_id":"general","channel_updated":{"labels":["work"],"archived":false}}' | tidemark emit --topic chat.messages`
}

// Validate checks the topic.
func (c *emitCmd) Validate() error {
	if c.Topic != "" && !slices.Contains(events.InputTopics[:], c.Topic) {
		return fmt.Errorf("--topic %s is not an input topic: want one of %s", c.Topic, strings.Join(events.InputTopics[:], ", "))
	}
	return nil
}

// maxLine bounds a line: the largest event, in JSON, with its envelope.
const maxLine = 4*events.MaxValueBytes + 4096

// emitAhead is how many events may be on their way before the first one is acknowledged.
const emitAhead = 4096

// emitted is an event on its way. err is valid once done is closed.
type emitted struct {
	line   int
	record *kgo.Record
	err    error
	done   chan struct{}
}

// Run writes the events that it reads. It prints tokens in the order of the lines, each once its
// event is acknowledged.
func (c *emitCmd) Run(a *verbs.App) error {
	cl, err := c.Client(a,
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), // murmur2 of the key, as Kafka's own
		kgo.ProducerLinger(0),
		kgo.ProducerBatchMaxBytes(events.MaxValueBytes+64<<10),
		kgo.RecordDeliveryTimeout(30*time.Second),
	)
	if err != nil {
		return err
	}
	defer cl.Close()
	inputs := c.Topics().Inputs
	if _, _, _, err := kafkaadmin.SettledIdentities(a.Ctx, kadm.NewClient(cl), inputs[:]); err != nil {
		return err
	}

	if term.OnTerminal(a.Stdin) {
		fmt.Fprintln(a.Stderr, "reading events from the terminal, one a line; Ctrl-D ends")
	}
	ctx, cancel := context.WithCancel(a.Ctx)
	defer cancel()
	flight := make(chan *emitted, emitAhead)
	var readErr error
	guard.Go("the reading of events", func(*guard.Error) {}, func() {
		defer close(flight)
		readErr = guard.Err("the reading of events", func() error { return c.produce(ctx, cl, a.Input(), a.Stderr, flight) })
	})
	written, err := c.printTokens(a, flight)
	if err != nil {
		cancel()
		for range flight { // until the reader has noticed the end
		}
		return err
	}
	if readErr != nil && a.Ctx.Err() == nil {
		return fmt.Errorf("%w (%s before it written)", readErr, term.Plural(written, "event"))
	}
	return readErr
}

// produce reads, checks and sends lines until the input ends or a line is bad. Warnings go to warn.
func (c *emitCmd) produce(ctx context.Context, cl *kgo.Client, in io.Reader, warn io.Writer, flight chan<- *emitted) error {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 64<<10), maxLine)
	line := 0
	p := lineParser{unknown: func(reason string) {
		fmt.Fprintf(warn, "tidemark: line %d: %s: no event has this field, so it is left out\n", line, term.Printable(reason))
	}}
	for s.Scan() {
		line++
		r, err := p.parse(c.Topic, s.Bytes())
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		if r == nil {
			continue
		}
		r.Topic = c.TopicPrefix + r.Topic
		e := &emitted{line: line, record: r, done: make(chan struct{})}
		select {
		case flight <- e:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		cl.Produce(ctx, r, func(_ *kgo.Record, err error) {
			e.err = err
			close(e.done)
		})
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d: longer than %d bytes, more than any event may have", line+1, maxLine)
	}
	if s.Err() != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.Err() != nil {
		return fmt.Errorf("line %d: reading standard input: %w", line+1, s.Err())
	}
	return nil
}

// printTokens prints the token of each event when it is acknowledged, and returns how many were.
func (c *emitCmd) printTokens(a *verbs.App, flight <-chan *emitted) (written int, err error) {
	out := bufio.NewWriter(a.Stdout)
	defer func() {
		if flushErr := out.Flush(); err == nil {
			err = flushErr
		}
	}()
	for {
		if len(flight) == 0 { // show the tokens so far while waiting for lines
			if err := out.Flush(); err != nil {
				return written, err
			}
		}
		e, more := <-flight
		if !more {
			return written, nil
		}
		select {
		case <-e.done:
		default: // or for the broker
			if err := out.Flush(); err != nil {
				return written, err
			}
			<-e.done
		}
		if e.err != nil {
			return written, fmt.Errorf("line %d: not written to %s: %w (%s before it written)", e.line, e.record.Topic, e.err,
				term.Plural(written, "event"))
		}
		written++
		token := events.RecordID{Topic: e.record.Topic, Partition: e.record.Partition, Offset: e.record.Offset}.String()
		if c.JSON {
			err = term.PrintJSON(out, struct {
				Line  int    `json:"line"`
				After string `json:"after"`
			}{e.line, token})
		} else {
			_, err = fmt.Fprintln(out, token)
		}
		if err != nil {
			return written, err
		}
	}
}
