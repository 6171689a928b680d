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

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
)

type emitCmd struct {
	brokersFlags
	topicsFlags
	jsonFlag
	Topic string `placeholder:"TOPIC" help:"Topic of lines that are bare events: chat.messages, chat.reads or chat.deliveries."`
}

func (emitCmd) Help() string {
	return `
Reads one JSON object a line from standard input: ` + "`{\"topic\": \"chat.messages\", \"event\": {...}}`" + `, or with --topic the bare
event. Each is checked, written with its channel as key, and answered by its place in the log as topic/partition/offset:
a token to pass on as --after of a query. Lines and --topic name topics without their --topic-prefix. A field that no event has is left out, with a word
on standard error. A bad line ends the run; what stood before it is written.

Example:

    echo '{"topic":"chat.messages","event":{"channel_id":"general","message_posted":{"message_id":"m1","sender_id":"bob"}}}' \
        | tidemark emit

    echo '{"channel_id":"general","user_id":"ann","read_up_to":{"message_id":"m1"}}' | tidemark emit --topic chat.reads`
}

// Validate checks the topic.
func (c *emitCmd) Validate() error {
	if c.Topic != "" && !slices.Contains(events.InputTopics[:], c.Topic) {
		return fmt.Errorf("--topic %s is no input: want one of %s", c.Topic, strings.Join(events.InputTopics[:], ", "))
	}
	return nil
}

// maxLine bounds a line: the largest event, in JSON, with its envelope.
const maxLine = 4*events.MaxValueBytes + 4096

// emitAhead is how many events may be on their way before the first of them is acknowledged.
const emitAhead = 4096

// emitted is an event on its way. err is valid once done is closed.
type emitted struct {
	line   int
	record *kgo.Record
	err    error
	done   chan struct{}
}

// Run writes what it reads. Tokens are printed in the order of the lines, each once its event is acknowledged.
func (c *emitCmd) Run(a *app) error {
	cl, err := c.client(a,
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
	inputs := c.topics().Inputs
	if _, _, _, err := kafkaadmin.SettledIdentities(a.ctx, kadm.NewClient(cl), inputs[:]); err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	flight := make(chan *emitted, emitAhead)
	var readErr error
	go func() {
		defer close(flight)
		readErr = c.produce(ctx, cl, a.stdin, a.stderr, flight)
	}()
	written, err := c.printTokens(a, flight)
	if err != nil {
		cancel()
		for range flight { // until the reader has seen that it is over
		}
		return err
	}
	if readErr != nil && a.ctx.Err() == nil {
		return fmt.Errorf("%w (%s before it written)", readErr, plural(written, "event"))
	}
	return readErr
}

// produce reads, checks and sends lines until the input ends or one is bad.
// What is no reason to end goes to warn.
func (c *emitCmd) produce(ctx context.Context, cl *kgo.Client, in io.Reader, warn io.Writer, flight chan<- *emitted) error {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 64<<10), maxLine)
	line := 0
	p := lineParser{unknown: func(reason string) {
		fmt.Fprintf(warn, "tidemark: line %d: %s: no event has it, so it is left out\n", line, reason)
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
	if s.Err() != nil {
		return fmt.Errorf("line %d: reading standard input: %w", line+1, s.Err())
	}
	return nil
}

// printTokens prints the token of each event when it is acknowledged, and returns how many were.
func (c *emitCmd) printTokens(a *app, flight <-chan *emitted) (written int, err error) {
	out := bufio.NewWriter(a.stdout)
	defer func() {
		if flushErr := out.Flush(); err == nil {
			err = flushErr
		}
	}()
	for {
		if len(flight) == 0 { // show what is there while waiting for lines
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
				plural(written, "event"))
		}
		written++
		token := fmt.Sprintf("%s/%d/%d", e.record.Topic, e.record.Partition, e.record.Offset)
		if c.JSON {
			err = printJSON(out, struct {
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
