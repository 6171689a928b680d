package travel

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// Moment is a moment of the past. One of its fields is set.
type Moment struct {
	Time time.Time // all records up to this time count, by their timestamps
	AsOf []string  // the as_of of an answer: the last records that count
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
				return m, fmt.Errorf("%q is no token: want topic/partition/offset, as the as_of of an answer", token)
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
	return Moment{}, fmt.Errorf("%q is no moment: want a time such as 2026-11-20 10:32 or 2026-11-20T10:32:00Z, or the as_of of an answer "+
		"(topic/partition/offset, separated by commas)", text)
}

// String is the moment in a form that ParseMoment reads, whatever the zone.
func (m Moment) String() string {
	if len(m.AsOf) > 0 {
		return strings.Join(m.AsOf, ",")
	}
	return m.Time.UTC().Format(time.RFC3339Nano)
}

// MarshalText is String.
func (m Moment) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads what String writes.
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

// evaluated is the time as of which what ends by itself (a level of notification) is judged: now
// for an as_of, which has no time.
func (m Moment) evaluated(now time.Time) time.Time {
	if len(m.AsOf) > 0 {
		return now
	}
	return m.Time
}

// position is that of a partition by the tokens, each of which names the last record of a log that
// counts. Of an input that has no token nothing counts: an answer has none before the first record.
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
			return v, fmt.Errorf("%s: %s is none of the input topics %s", token, id.Topic, strings.Join(topics[:], ", "))
		case id.Partition == partition:
			v[in] = max(v[in], id.Offset+1)
		}
	}
	return v, nil
}
