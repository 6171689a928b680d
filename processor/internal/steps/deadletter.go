package steps

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

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
	HeaderDetail    = "detail"    // what exactly is wrong, for people to read
	HeaderTimestamp = "timestamp" // timestamp of the record, in Unix milliseconds: an event without a time has this one
	HeaderLeftOut   = "left_out"  // the parts that are not copied because they are too large; absent if the copy is complete
)

// MaxCopied is the size, in bytes, up to which a bad record is copied completely. It equals the
// limit of a good record. A topic's limit applies to compressed batches, so a record may be many
// times larger than any that can be produced again.
const MaxCopied = events.MaxValueBytes + 64<<10

// copiedKey is how much of a longer key is copied, in bytes, when the record is too large.
const copiedKey = 4 << 10

// deadLetter returns the copy of a bad record for the dead letters: its key and value, the record's
// headers, then headers of its own. Its timestamp is the time of writing, because the 30 days of
// retention count from there. It shares no memory with r, whose memory is used again before the copy
// is published. Of a record that is too large it has only the place and the size.
func deadLetter(topic string, r *kgo.Record, err error) *kgo.Record {
	headers := make([]kgo.RecordHeader, 0, len(r.Headers)+6)
	size := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		switch h.Key {
		case HeaderTopic, HeaderPartition, HeaderOffset, HeaderReason, HeaderDetail, HeaderTimestamp, HeaderLeftOut:
		default:
			headers = append(headers, kgo.RecordHeader{Key: strings.Clone(h.Key), Value: bytes.Clone(h.Value)})
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
	return &kgo.Record{Topic: topic, Partition: r.Partition, Key: bytes.Clone(key), Value: bytes.Clone(value), Headers: headers}
}

// headerOverhead is the largest size of a header besides its key and value, in bytes.
const headerOverhead = 10

// reasonOf returns the reason of an error, which is never empty: an error without a reason counts
// as undecodable.
func reasonOf(err error) events.Reason {
	if r := events.ReasonOf(err); r != "" {
		return r
	}
	return events.ReasonUndecodable
}
