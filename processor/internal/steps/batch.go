package steps

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/processor/internal/merge"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

const (
	// lockRecords is how many records are folded at once.
	lockRecords = 256
	// foldHold is how long the fold may hold the partition's lock before it lets queries in. The
	// fold checks the clock after each foldLook units of work. A record is 1 unit, plus 1 for each
	// KiB, because a record that names many users takes long.
	foldHold = 2 * time.Millisecond
	foldLook = 16
)

// batch is up to lockRecords records on their way from fetched to folded. Its memory is reused.
type batch struct {
	items []merge.Item
	slots []slot

	decoder    events.Decoder
	messages   [lockRecords]events.Message
	reads      [lockRecords]events.Read
	deliveries [lockRecords]events.Delivery
	channels   [][]byte
	warm       struct {
		messages []*events.Message
		reads    []*events.Read
	}
}

// slot is the result of one item.
type slot struct {
	kind    events.Kind // KindNone: not folded
	outcome projections.Outcome
	err     error // why the record is bad
	control bool  // a transaction's marker, not an event
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

func idOf(r *kgo.Record) events.RecordID {
	return events.RecordID{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
}

func (b *batch) recordError(i int, err error) error {
	r := b.items[i].Rec
	return &recordError{r.Topic, r.Partition, r.Offset, err}
}

// decode decodes and checks the items for partition number of n. If a record stops the partition,
// the batch ends before that record and decode returns its error.
func (b *batch) decode(number, n int32, skips map[events.RecordID]bool) error {
	b.slots = b.slots[:0]
	for i := range b.items {
		s := slot{}
		if s.control = b.items[i].Rec.Attrs.IsControl(); !s.control {
			s.err = b.decodeOne(i, &s, number, n)
			if len(skips) > 0 && skips[idOf(b.items[i].Rec)] {
				s = slot{err: &events.Error{Reason: setup.ReasonSkipped, Detail: "left out on demand (--skip-record)"}}
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
	r := b.items[i].Rec
	ms := merge.MillisOf(r)
	var channel []byte
	var err error
	switch b.items[i].In {
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
		err = events.CheckRecord(r.Key, channel, number, n)
	}
	if err != nil {
		s.kind, s.clock = events.KindNone, false
	}
	return err
}

// fold folds the decoded records under the partition's lock. When it has held the lock for long, it
// releases it between two records; the state is then as after a batch that ends there. A panic
// becomes an error that names the record. After a panic the state is unusable, and the partition is
// no longer live. at is the index of that record, or -1 if it is unknown.
func (b *batch) fold(w *Worker) (at int, err error) {
	at = -1
	f, now := w.Fold, w.cfg.Now
	b.look()
	if err := b.fetch(f); err != nil {
		return at, err
	}
	f.Lock()
	end := f.TimeHold("fold")
	defer func() {
		end()
		f.Unlock()
	}()
	defer func() {
		if v := recover(); v != nil {
			w.Live.Store(nil) // the next holder of the lock must not read a half-folded record
			if err = guard.New("the fold", v); at >= 0 {
				err = b.recordError(at, err)
			}
		}
	}()
	since, work := now(), 0
	b.warmUp(f)
	for at = range b.slots {
		s, in, r := &b.slots[at], b.items[at].In, b.items[at].Rec
		if work >= foldLook {
			work = 0
			if now().Sub(since) >= foldHold {
				end()
				f.Unlock()
				f.Lock()
				end, since = f.TimeHold("fold"), now()
			}
		}
		work += 1 + len(r.Value)>>10
		if s.control || s.err != nil {
			f.Skip(in, r.Offset+1)
			continue
		}
		switch in {
		case events.Messages:
			s.outcome = f.FoldMessage(&b.messages[at], r.Offset, merge.MillisOf(r))
		case events.Reads:
			s.outcome = f.FoldRead(&b.reads[at], r.Offset, merge.MillisOf(r))
		case events.Deliveries:
			s.outcome = f.FoldDelivery(&b.deliveries[at], r.Offset, merge.MillisOf(r))
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

// look lists what the batch names, for fetch and warmUp.
func (b *batch) look() {
	w := &b.warm
	w.messages, w.reads, b.channels = w.messages[:0], w.reads[:0], b.channels[:0]
	for i := range b.slots {
		if s := &b.slots[i]; s.control || s.err != nil {
			continue
		}
		switch b.items[i].In {
		case events.Messages:
			w.messages = append(w.messages, &b.messages[i])
			b.channels = append(b.channels, b.messages[i].ChannelID)
		case events.Reads:
			w.reads = append(w.reads, &b.reads[i])
			b.channels = append(b.channels, b.reads[i].ChannelID)
		case events.Deliveries:
			b.channels = append(b.channels, b.deliveries[i].ChannelID)
		}
	}
}

// fetch lets the fold load the channels that the batch needs and memory does not have.
func (b *batch) fetch(f setup.Fold) error {
	return guard.Err("the reading of channels", func() error { return f.Fetch(b.channels) })
}

// warmUp lets the fold load the memory that the batch needs all at once.
func (b *batch) warmUp(f setup.Fold) {
	if w := &b.warm; len(w.messages)+len(w.reads) > 8 {
		f.Warm(w.messages, w.reads)
	}
}
