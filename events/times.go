package events

import "strconv"

// MaxClockAhead is how far a time may be ahead of its record's timestamp, in milliseconds. The
// decoder replaces a later time by that timestamp: one wrong clock must not expire a partition, or
// keep a channel read forever.
const MaxClockAhead = 5 * 60 * 1000

// maxSeconds is the last second of year 9999, where google.protobuf.Timestamp ends.
const maxSeconds = 253402300799

// wireTime is a google.protobuf.Timestamp as it was decoded. Where a message repeats the field, its
// parts are merged.
type wireTime struct {
	seconds int64
	nanos   int32
	set     bool
}

func (t *wireTime) merge(c *cursor) {
	t.set = true
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireVarint:
			t.seconds = int64(sub.varint())
		case 2<<3 | wireVarint:
			t.nanos = int32(sub.varint())
		default:
			sub.skip()
		}
	}
	c.done(&sub)
}

// millis returns the time in Unix milliseconds, truncated downwards. It refuses times before 1970,
// like those that Timestamp itself excludes, so that no format needs to represent them.
func (t *wireTime) millis(field string) (int64, error) {
	if t.seconds < 0 || t.seconds > maxSeconds || t.nanos < 0 || t.nanos > 999_999_999 {
		return 0, &Error{Reason: ReasonInvalidTime, Field: field, Detail: "seconds " + strconv.FormatInt(t.seconds, 10) +
			", nanos " + strconv.FormatInt(int64(t.nanos), 10) + " is not between 1970 and 9999"}
	}
	return t.seconds*1000 + int64(t.nanos)/1_000_000, nil
}

// clock has the timestamp of the record that is being decoded, never negative, and whether it
// replaced one of the event's times.
type clock struct {
	record   int64
	replaced bool
}

// read returns a time of the event by this clock. A missing time is the record's.
func (c *clock) read(t *wireTime, field string) (int64, error) {
	if !t.set {
		return c.record, nil
	}
	ms, err := t.millis(field)
	if err != nil {
		return 0, err
	}
	if ms > c.record+MaxClockAhead {
		c.replaced = true
		return c.record, nil
	}
	return ms, nil
}
