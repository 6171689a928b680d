package travel

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// Moment is a moment of the past. Exactly one of its fields is set.
type Moment struct {
	Time time.Time // includes all records with timestamps up to this time
	AsOf []string  // the as_of of an answer: the last records to include
}

// layouts are the forms of a time without a zone.
var layouts = []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02 15:04:05.999", "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02"}

// ParseMoment reads a time, in the zone of loc if it names none, or tokens separated by commas.
func ParseMoment(text string, loc *time.Location) (Moment, error) {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "/") {
		var m Moment
		for _, token := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
			if _, err := events.ParseRecordID(token); err != nil {
				return m, fmt.Errorf("%q is not a token: want topic/partition/offset, as in the as_of of an answer", token)
			}
			m.AsOf = append(m.AsOf, token)
		}
		return m, nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return Moment{Time: at}, nil
	}
	for _, layout := range layouts {
		if at, err := time.ParseInLocation(layout, text, loc); err == nil {
			return Moment{Time: at}, nil
		}
	}
	return Moment{}, fmt.Errorf("%q is not a moment: want a time such as 2026-11-20 10:32 or 2026-11-20T10:32:00Z, or the as_of of an answer "+
		"(topic/partition/offset, separated by commas)", text)
}

// String returns the moment in a form that ParseMoment reads in any zone.
func (m Moment) String() string {
	if len(m.AsOf) > 0 {
		return strings.Join(m.AsOf, ",")
	}
	return m.Time.UTC().Format(time.RFC3339Nano)
}

// MarshalText returns String.
func (m Moment) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads the form that String writes.
func (m *Moment) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMoment(string(text), time.UTC)
	return err
}

// past returns an error for a moment that has not come yet.
func (m Moment) past(now time.Time) error {
	switch {
	case len(m.AsOf) == 0 && m.Time.IsZero():
		return errors.New("no moment is named")
	case m.Time.After(now):
		return fmt.Errorf("%s has not come yet", m)
	}
	return nil
}

// evaluated returns the time for which levels with an `until` are evaluated: now for an as_of,
// which has no time.
func (m Moment) evaluated(now time.Time) time.Time {
	if len(m.AsOf) > 0 {
		return now
	}
	return m.Time
}

// position returns the position of a partition by the tokens. Each token names the last record of a
// log to include. An input without a token includes no record: an as_of lacks a token only before
// the input's first record.
func (m Moment) position(topics [events.NumInputs]string, partition int32) (v projections.Position, err error) {
	for _, token := range m.AsOf {
		id, err := events.ParseRecordID(token)
		if err != nil {
			return v, err
		}
		in := -1
		for i, name := range topics {
			if name == id.Topic {
				in = i
			}
		}
		switch {
		case in < 0:
			return v, fmt.Errorf("%s: %s is not one of the input topics %s", token, id.Topic, strings.Join(topics[:], ", "))
		case id.Partition == partition:
			v[in] = max(v[in], id.Offset+1)
		}
	}
	return v, nil
}
