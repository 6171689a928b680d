package processor

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// Headers of a dead letter. All are text.
const (
	HeaderTopic     = "topic"
	HeaderPartition = "partition"
	HeaderOffset    = "offset"
	HeaderReason    = "reason"    // an events.Reason
	HeaderDetail    = "detail"    // what exactly is wrong, for people
	HeaderTimestamp = "timestamp" // of the record, in Unix milliseconds: an event without a time has this one
)

// deadLetter is the copy of a bad record for the dead letters: key and value as they were, and its own headers after the
// record's. It is new when it is written: what is kept for 30 days counts from there.
func deadLetter(topic string, r *kgo.Record, err error) *kgo.Record {
	headers := make([]kgo.RecordHeader, 0, len(r.Headers)+6)
	for _, h := range r.Headers {
		switch h.Key {
		case HeaderTopic, HeaderPartition, HeaderOffset, HeaderReason, HeaderDetail, HeaderTimestamp:
		default:
			headers = append(headers, h)
		}
	}
	add := func(key, value string) {
		headers = append(headers, kgo.RecordHeader{Key: key, Value: []byte(value)})
	}
	add(HeaderTopic, r.Topic)
	add(HeaderPartition, strconv.Itoa(int(r.Partition)))
	add(HeaderOffset, strconv.FormatInt(r.Offset, 10))
	add(HeaderReason, string(reasonOf(err)))
	add(HeaderDetail, err.Error())
	add(HeaderTimestamp, strconv.FormatInt(millisOf(r), 10))
	return &kgo.Record{Topic: topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: headers}
}

// reasonOf is never empty: what has no reason of its own could not be decoded.
func reasonOf(err error) events.Reason {
	if r := events.ReasonOf(err); r != "" {
		return r
	}
	return events.ReasonUndecodable
}
