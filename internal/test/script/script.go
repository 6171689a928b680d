package script

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/projections"
)

// Start is the time 0:00:00 of every script in Unix milliseconds: the first second of 2026, UTC.
const Start = 1_767_225_600_000

// DefaultChannel is the channel of lines without a channel.
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

// Folder folds records: a projections.Partition, or the rules alone.
type Folder interface {
	FoldMessage(m *events.Message, offset, timestamp int64) projections.Outcome
	FoldRead(m *events.Read, offset, timestamp int64) projections.Outcome
	FoldDelivery(m *events.Delivery, offset, timestamp int64) projections.Outcome
}

// Fold folds the record into a partition. It then overwrites the event's memory, as a consumer that
// reuses its buffers would. A fold that keeps a reference instead of a copy then has a wrong state,
// which tests notice.
func (r *Record) Fold(p Folder) projections.Outcome {
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

// Add appends a record to its topic with the next offset, and returns it with that offset.
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

// Interleave lists all records, in an order that preserves the order of each topic. pick chooses
// the next topic: it gets the topics that have records left, and returns an index into them.
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
