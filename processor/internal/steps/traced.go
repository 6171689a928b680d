package steps

import (
	"bytes"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/trace"
	"github.com/tidemark/tidemark/projections"
)

// traced has the traces of records that were folded and whose changes are not published yet. The
// fold knows nothing of traces: a delta belongs to a trace if it is of the channel of the trace's
// record and, where that record is of one user, of that user.
type traced struct {
	events []tracedEvent
	spans  []trace.Span // of the set in flight
}

// tracedEvent is a folded record with a trace.
type tracedEvent struct {
	channel, user []byte // user is nil for a message, which changes what every member sees
	parent        []byte // the span of its fold
}

// folded makes a span for each record of a batch that carries a sampled trace.
func (t *traced) folded(to trace.Tracer, b *batch, began, ended time.Time) {
	for i := range b.slots {
		r := b.items[i].Rec
		if len(r.Headers) == 0 || b.slots[i].err != nil || b.slots[i].control || len(t.events) == trace.MaxAtOnce {
			continue
		}
		parent := trace.Sampled(r.Headers)
		if parent == nil {
			continue
		}
		span := to.Follow(parent, "fold "+b.slots[i].kind.String(), began, trace.Place(r)...)
		if span == nil {
			continue
		}
		span.End(ended, nil)
		e := tracedEvent{parent: span.Traceparent()}
		switch b.items[i].In {
		case events.Messages:
			e.channel = bytes.Clone(b.messages[i].ChannelID)
		case events.Reads:
			e.channel, e.user = bytes.Clone(b.reads[i].ChannelID), bytes.Clone(b.reads[i].UserID)
		case events.Deliveries:
			e.channel, e.user = bytes.Clone(b.deliveries[i].ChannelID), bytes.Clone(b.deliveries[i].UserID)
		}
		t.events = append(t.events, e)
	}
}

// publishes returns headers for those records of a drain that an event with a trace has caused, by
// their numbers: the traceparent of the newest such event. It begins a span for each such event.
func (t *traced) publishes(to trace.Tracer, records []projections.OutRecord, at time.Time) map[int32][]kgo.RecordHeader {
	all := map[int32][]kgo.RecordHeader{}
	for i := len(t.events) - 1; i >= 0; i-- {
		e := &t.events[i]
		var header []kgo.RecordHeader
		for n := range records {
			place := int32(n) //nolint:gosec // a drain has fewer
			if all[place] != nil || !e.caused(records[n].Key) {
				continue
			}
			if header == nil {
				span := to.Follow(e.parent, "publish", at)
				if span == nil {
					break
				}
				t.spans, header = append(t.spans, span), trace.Headers(span.Traceparent())
			}
			all[place] = header
		}
	}
	return all
}

// drained forgets the events once everything that they changed was drained.
func (t *traced) drained(full bool) {
	if full && len(t.events) > 0 {
		clear(t.events)
		t.events = t.events[:0]
	}
}

// caused reports whether a key is that of a record that the event can change: a user in its
// channel or a thread of it, or the channel.
func (e *tracedEvent) caused(key []byte) bool {
	user, channel, _, ok := events.SplitUnreadKey(key)
	if !ok {
		return bytes.Equal(key, e.channel)
	}
	return bytes.Equal(channel, e.channel) && (e.user == nil || bytes.Equal(user, e.user))
}

// published ends the spans of the set in flight, and returns the id of one of their traces; empty:
// there was none.
func (t *traced) published(now func() time.Time, err error) (traceID string) {
	if len(t.spans) == 0 {
		return ""
	}
	at := now()
	for _, s := range t.spans {
		s.End(at, err)
	}
	traceID = trace.TraceID(t.spans[0].Traceparent())
	clear(t.spans)
	t.spans = t.spans[:0]
	return traceID
}
