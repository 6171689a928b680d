package events

import (
	"fmt"
	"strconv"
	"strings"
)

// RecordID names a record of a topic. Its text form, topic/partition/offset, is that of the tokens
// in `after` and `as_of` (DESIGN §9).
type RecordID struct {
	Topic     string
	Partition int32
	Offset    int64
}

// Append appends the text form of r.
func (r RecordID) Append(b []byte) []byte {
	b = append(append(b, r.Topic...), '/')
	b = append(strconv.AppendInt(b, int64(r.Partition), 10), '/')
	return strconv.AppendInt(b, r.Offset, 10)
}

// String returns the text form of r.
func (r RecordID) String() string { return string(r.Append(nil)) }

// ParseRecordID reads the text form of a record's id.
func ParseRecordID(text string) (RecordID, error) {
	topic, numbers, _ := strings.Cut(text, "/")
	partition, offset, _ := strings.Cut(numbers, "/")
	p, okP := decimal(partition, 32)
	o, okO := decimal(offset, 64)
	if topic == "" || !okP || !okO {
		return RecordID{}, fmt.Errorf("%q is no record: write it as topic/partition/offset", text)
	}
	return RecordID{topic, int32(p), o}, nil
}

// decimal reads plain decimal digits; a sign is refused.
func decimal(s string, bits int) (int64, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, bits)
	return n, err == nil
}
