package steps

import (
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/merge"
)

// Headers of a dead letter. All are text.
const (
	HeaderTopic     = "topic"
	HeaderPartition = "partition"
	HeaderOffset    = "offset"
	HeaderReason    = "reason"    // an events.Reason
	HeaderDetail    = "detail"    // what exactly is wrong, for people
	HeaderTimestamp = "timestamp" // of the record, in Unix milliseconds: an event without a time has this one
	HeaderLeftOut   = "left_out"  // what is not copied because it is too large; absent where the copy is whole
)

// MaxCopied is up to how many bytes a bad record is copied whole: as many as a good one may have. A
// topic's limit is on compressed batches, so that a record may be many times as large as any that
// can be produced again.
const MaxCopied = events.MaxValueBytes + 64<<10

// copiedKey is up to what length the key of a larger one is copied.
const copiedKey = 4 << 10

// deadLetter makes the copy of a bad record for the dead letters: its key and value, the record's
// headers, then headers of its own. Its timestamp is the time of writing, because the 30 days of
// retention count from there. For a record that is too large to copy it has only the place and the
// size.
func deadLetter(topic string, r *kgo.Record, err error) *kgo.Record {
	headers := make([]kgo.RecordHeader, 0, len(r.Headers)+6)
	size := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		switch h.Key {
		case HeaderTopic, HeaderPartition, HeaderOffset, HeaderReason, HeaderDetail, HeaderTimestamp, HeaderLeftOut:
		default:
			headers = append(headers, h)
			size += len(h.Key) + len(h.Value) + headerOverhead
		}
	}
	add := func(key, value string) {
		headers = append(headers, kgo.RecordHeader{Key: key, Value: []byte(value)})
	}
	key, value := r.Key, r.Value
	if size > MaxCopied {
		leftOut := fmt.Sprintf("the value of %d bytes and %d headers", len(value), len(headers))
		if len(key) > copiedKey {
			leftOut += fmt.Sprintf(", and of the key of %d bytes all but the first %d", len(key), copiedKey)
			key = key[:copiedKey]
		}
		value, headers = nil, headers[:0]
		add(HeaderLeftOut, leftOut)
	}
	add(HeaderTopic, r.Topic)
	add(HeaderPartition, strconv.Itoa(int(r.Partition)))
	add(HeaderOffset, strconv.FormatInt(r.Offset, 10))
	add(HeaderReason, string(reasonOf(err)))
	add(HeaderDetail, err.Error())
	add(HeaderTimestamp, strconv.FormatInt(merge.MillisOf(r), 10))
	return &kgo.Record{Topic: topic, Partition: r.Partition, Key: key, Value: value, Headers: headers}
}

// headerOverhead is what a header takes beside its key and value, in bytes, at most.
const headerOverhead = 10

// reasonOf is never empty: an error without a reason of its own counts as undecodable.
func reasonOf(err error) events.Reason {
	if r := events.ReasonOf(err); r != "" {
		return r
	}
	return events.ReasonUndecodable
}
