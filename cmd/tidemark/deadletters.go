package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor"
)

type deadlettersCmd struct {
	List   deadlettersListCmd   `cmd:"" help:"List bad records."`
	Replay deadlettersReplayCmd `cmd:"" help:"Write bad records to their topics again, after a fix."`
}

func (deadlettersCmd) Help() string {
	return `
Records that could not be used are copied to tidemark.dead-letters, with why and where from.

Example:

    tidemark deadletters list --reason undecodable --since 24h
    tidemark deadletters replay --reason undecodable --since 24h --dry-run`
}

// letterFlags choose dead letters.
type letterFlags struct {
	brokersFlags
	jsonFlag
	Reason []string      `placeholder:"REASON" help:"Only these reasons."`
	Topic  []string      `placeholder:"TOPIC" help:"Only those from these topics."`
	Since  time.Duration `placeholder:"DURATION" help:"Only those written in this last time, such as 24h."`
	At     []string      `placeholder:"PLACE" help:"Only these, by their place as list shows it: partition/offset."`
}

// letter is a dead letter.
type letter struct {
	Partition int32     `json:"partition"` // its place in the dead letters
	Offset    int64     `json:"offset"`
	Written   time.Time `json:"written"`
	Reason    string    `json:"reason"`
	Detail    string    `json:"detail"`
	Topic     string    `json:"topic"` // where it came from
	From      string    `json:"from"`  // partition/offset there
	Key       string    `json:"key"`
	Bytes     int       `json:"bytes"`

	record *kgo.Record
	at     time.Time // the record's own timestamp; zero if unknown
}

// letterOf reads a dead letter's headers. Those that are missing stay empty.
func letterOf(r *kgo.Record) letter {
	l := letter{
		Partition: r.Partition, Offset: r.Offset, Written: r.Timestamp.UTC(), Key: string(r.Key), Bytes: len(r.Value), record: r,
	}
	var partition, offset string
	for _, h := range r.Headers {
		v := string(h.Value)
		switch h.Key {
		case processor.HeaderTopic:
			l.Topic = v
		case processor.HeaderPartition:
			partition = v
		case processor.HeaderOffset:
			offset = v
		case processor.HeaderReason:
			l.Reason = v
		case processor.HeaderDetail:
			l.Detail = strings.TrimPrefix(v, "bad event: ")
		case processor.HeaderTimestamp:
			if ms, err := strconv.ParseInt(v, 10, 64); err == nil {
				l.at = time.UnixMilli(ms)
			}
		}
	}
	l.From = partition + "/" + offset
	return l
}

// letterHeaders are those that the processor adds.
var letterHeaders = []string{
	processor.HeaderTopic, processor.HeaderPartition, processor.HeaderOffset, processor.HeaderReason,
	processor.HeaderDetail, processor.HeaderTimestamp,
}

// origin is where the record came from.
func (l *letter) origin() string { return l.Topic + "/" + l.From }

// place is where the letter is.
func (l *letter) place() string { return fmt.Sprintf("%d/%d", l.Partition, l.Offset) }

func (f *letterFlags) wants(l *letter) bool {
	return (len(f.Reason) == 0 || slices.Contains(f.Reason, l.Reason)) &&
		(len(f.Topic) == 0 || slices.Contains(f.Topic, l.Topic)) &&
		(len(f.At) == 0 || slices.Contains(f.At, l.place())) &&
		(f.Since == 0 || time.Since(l.Written) <= f.Since)
}

// each calls fn for the letters that are wanted, of those that were there when it was called.
func (f *letterFlags) each(a *app, fn func(letter) error) error {
	cl, err := f.client(a)
	if err != nil {
		return err
	}
	spans, err := spansOf(a.ctx, kadm.NewClient(cl), events.TopicDeadLetters)
	cl.Close()
	if err != nil {
		return err
	}
	return readSpans(a, f.brokersFlags, events.TopicDeadLetters, spans, func(r *kgo.Record) error {
		if l := letterOf(r); f.wants(&l) {
			return fn(l)
		}
		return nil
	})
}
