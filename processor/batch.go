package processor

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// lockRecords is how many records are folded under one hold of the partition's lock, so that queries get in between.
const lockRecords = 256

// batch is up to lockRecords records on their way from fetched to folded. Its memory is reused.
type batch struct {
	items []item
	slots []slot

	decoder    events.Decoder
	messages   [lockRecords]events.Message
	reads      [lockRecords]events.Read
	deliveries [lockRecords]events.Delivery
	warm       struct {
		messages []*events.Message
		reads    []*events.Read
	}
}

// slot is what became of one item.
type slot struct {
	kind    events.Kind // KindNone: not folded
	outcome projections.Outcome
	err     error // why it is bad
	control bool  // a transaction's marker: no event
	clock   bool  // a time of the event was replaced
}

// recordError is an error about one record.
type recordError struct {
	topic     string
	partition int32
	offset    int64
	err       error
}

func (e *recordError) Error() string {
	return fmt.Sprintf("%s/%d at offset %d: %v", e.topic, e.partition, e.offset, e.err)
}

func (e *recordError) Unwrap() error { return e.err }

func idOf(r *kgo.Record) RecordID { return RecordID{r.Topic, r.Partition, r.Offset} }

func (b *batch) recordError(i int, err error) error {
	r := b.items[i].rec
	return &recordError{r.Topic, r.Partition, r.Offset, err}
}

// decode decodes and checks the items for partition number of n. Where a record stops the partition the batch ends
// before it and its error is returned.
func (b *batch) decode(number, n int32, skips map[RecordID]bool) error {
	b.slots = b.slots[:0]
	for i := range b.items {
		s := slot{}
		if s.control = b.items[i].rec.Attrs.IsControl(); !s.control {
			s.err = b.decodeOne(i, &s, number, n)
			if len(skips) > 0 && skips[idOf(b.items[i].rec)] {
				s = slot{err: &events.Error{Reason: ReasonSkipped, Detail: "left out on demand (--skip-record)"}}
			}
		}
		if errors.Is(s.err, events.ErrNewerVersion) {
			err := b.recordError(i, s.err)
			b.items = b.items[:i]
			return err
		}
		b.slots = append(b.slots, s)
	}
	return nil
}

func (b *batch) decodeOne(i int, s *slot, number, n int32) error {
	r := b.items[i].rec
	ms := millisOf(r)
	var channel []byte
	var err error
	switch b.items[i].in {
	case events.Messages:
		m := &b.messages[i]
		err = b.decoder.Message(r.Value, ms, m)
		channel, s.kind, s.clock = m.ChannelID, m.Kind, m.ClockReplaced
	case events.Reads:
		m := &b.reads[i]
		err = b.decoder.Read(r.Value, ms, m)
		channel, s.kind, s.clock = m.ChannelID, m.Kind, m.ClockReplaced
	case events.Deliveries:
		m := &b.deliveries[i]
		err = b.decoder.Delivery(r.Value, ms, m)
		channel, s.kind, s.clock = m.ChannelID, m.Kind, m.ClockReplaced
	}
	if err == nil {
		err = events.CheckPartition(channel, number, n)
	}
	if err != nil {
		s.kind, s.clock = events.KindNone, false
	}
	return err
}

// fold folds what was decoded, under the partition's lock. A panic becomes an error that names the record; what the fold
// holds then is of no use any more. at is which, -1 if it is not known.
func (b *batch) fold(f fold) (at int, err error) {
	at = -1
	f.Lock()
	defer f.Unlock()
	defer func() {
		if p := recover(); p != nil {
			if err = newPanic("the fold", p); at >= 0 {
				err = b.recordError(at, err)
			}
		}
	}()
	b.warmUp(f)
	for at = range b.slots {
		s, in, r := &b.slots[at], b.items[at].in, b.items[at].rec
		if s.control || s.err != nil {
			f.Skip(in, r.Offset+1)
			continue
		}
		switch in {
		case events.Messages:
			s.outcome = f.FoldMessage(&b.messages[at], r.Offset, millisOf(r))
		case events.Reads:
			s.outcome = f.FoldRead(&b.reads[at], r.Offset, millisOf(r))
		case events.Deliveries:
			s.outcome = f.FoldDelivery(&b.deliveries[at], r.Offset, millisOf(r))
		}
		switch s.outcome {
		case projections.OutcomeTooManyHeld:
			s.err = &events.Error{Reason: events.ReasonTooManyHeld,
				Detail: "the user already has 1,000 events in this scope that wait for messages that are not there"}
		case projections.OutcomeChannelFull:
			s.err = &events.Error{Reason: events.ReasonChannelFull,
				Detail: fmt.Sprintf("the channel already has %d messages, and takes no more: go on in another", uint32(projections.MaxSeq))}
		}
	}
	return at, nil
}

// warmUp lets the fold fetch the memory that the batch needs all at once.
func (b *batch) warmUp(f fold) {
	w := &b.warm
	w.messages, w.reads = w.messages[:0], w.reads[:0]
	for i := range b.slots {
		if s := &b.slots[i]; s.control || s.err != nil {
			continue
		}
		switch b.items[i].in {
		case events.Messages:
			w.messages = append(w.messages, &b.messages[i])
		case events.Reads:
			w.reads = append(w.reads, &b.reads[i])
		}
	}
	if len(w.messages)+len(w.reads) > 8 {
		f.Warm(w.messages, w.reads)
	}
}
