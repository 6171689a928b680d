// Package script is a small language for chat events that people can read, for golden tests, for documentation, and for
// saying what a failing random test did. A line is an event:
//
//	a, b join
//	b posts m1 "hello" @a
//	a reads up to m1
//	a marks unread m1 head m1
//
// Parser turns text into records as a decoder would hand them to the fold; Format turns a record back into a line that
// parses to the same record; the functions of state.go put what a user sees into words. See Parser for all lines.
//
// Times are written as what has passed since Start, as "0:00:05" or "8d+0:00:05.250".
package script

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/model"
	"github.com/tidemark/tidemark/projections"
)

// Start is the time 0:00:00 of every script in Unix milliseconds: the first second of 2026, UTC.
const Start = 1_767_225_600_000

// DefaultChannel is the channel of lines that name none.
const DefaultChannel = "c"

// Record is a record of one of the input topics. Exactly one of the events is set, that of Input.
type Record struct {
	Input     events.Input
	Offset    int64
	Timestamp int64 // the record's, Unix milliseconds

	Message  *events.Message
	Read     *events.Read
	Delivery *events.Delivery
}

// Fold folds the record into a partition. What the fold is given is overwritten afterwards, as the memory of records is
// that is used again: who keeps a piece of it instead of a copy is found out by whatever looks at the state.
func (r *Record) Fold(p *projections.Partition) projections.Outcome {
	var lent loan
	defer lent.spoil()
	switch r.Input {
	case events.Messages:
		return p.FoldMessage(lent.message(*r.Message), r.Offset, r.Timestamp)
	case events.Reads:
		return p.FoldRead(lent.read(*r.Read), r.Offset, r.Timestamp)
	default:
		return p.FoldDelivery(lent.delivery(*r.Delivery), r.Offset, r.Timestamp)
	}
}

// AddTo appends the record to a model's log.
func (r *Record) AddTo(m *model.Model) {
	switch r.Input {
	case events.Messages:
		m.AddMessage(r.Message, r.Offset, r.Timestamp)
	case events.Reads:
		m.AddRead(r.Read, r.Offset, r.Timestamp)
	default:
		m.AddDelivery(r.Delivery, r.Offset, r.Timestamp)
	}
}

// Log is one partition of the three input topics.
type Log [events.NumInputs][]Record

// Add appends a record to its topic and gives it the next offset there. It returns the record as it was added.
func (l *Log) Add(r Record) Record {
	t := &l[r.Input]
	r.Offset = int64(len(*t))
	*t = append(*t, r)
	return r
}

// Len is the number of records in all topics.
func (l *Log) Len() int {
	n := 0
	for _, t := range l {
		n += len(t)
	}
	return n
}

// Interleave lists the records in an order that keeps each topic's own. Which topic is next is up to pick: it gets the
// topics that have records left, and returns an index into them.
func (l *Log) Interleave(pick func(left []events.Input) int) []Record {
	var next [events.NumInputs]int
	out := make([]Record, 0, l.Len())
	for {
		var left []events.Input
		for in := range events.Input(events.NumInputs) {
			if next[in] < len(l[in]) {
				left = append(left, in)
			}
		}
		if len(left) == 0 {
			return out
		}
		in := left[0]
		if len(left) > 1 {
			in = left[pick(left)]
		}
		out = append(out, l[in][next[in]])
		next[in]++
	}
}
