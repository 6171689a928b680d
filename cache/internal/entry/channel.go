package entry

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/tidemark/tidemark/events"
)

var errNoField = errors.New("the field is missing")

// Channel is the content of channel-latest of a channel.
type Channel struct {
	ChannelID string

	// The newest live counted message. LatestAt is zero if there is none. LatestID is also empty if
	// the message has left the index.
	LatestID, LatestSender, LatestPreview string
	LatestAt                              time.Time

	HeadSeq     uint32 // seq of the newest message
	MemberCount uint32

	Labels   []string // of the channel itself, ascending
	Archived bool     // archived for everybody

	events.Timeline
}

// ParseChannel parses the hash of a channel.
func ParseChannel(key, id string, hash map[string]string) (*Channel, error) {
	p := Hash{Key: key, Fields: hash}
	c := &Channel{
		ChannelID:     id,
		LatestID:      p.Text("latest_id"),
		LatestSender:  p.Text("latest_sender"),
		LatestPreview: p.Text("latest_preview"),
		LatestAt:      p.Time("latest_at"),
		HeadSeq:       p.Number("message_seq"),
		MemberCount:   p.Number("member_count"),
		Labels:        p.labels("labels"),
		Archived:      p.bool("archived"),
		Timeline: events.Timeline{
			HeadPos:    p.Number("message_pos"),
			PurgedPos:  p.Number("purged_pos"),
			Holes:      p.positions("holes"),
			HolesFloor: p.Number("holes_floor"),
			Alls:       p.positions("alls"),
			AllsFloor:  p.Number("alls_floor"),
		},
	}
	return c, p.Err
}

// OfSmall are the fields of channel-latest that the entry of a small channel needs.
var OfSmall = []string{"message_pos", "labels", "archived"}

// ParseSome parses the fields OfSmall of a channel; nil if it has no record.
func ParseSome(key, id string, values []any) (*Channel, error) {
	hash := make(map[string]string, len(OfSmall))
	for i, field := range OfSmall {
		if text, ok := values[i].(string); ok {
			hash[field] = text
		}
	}
	if len(hash) == 0 {
		return nil, nil
	}
	p := Hash{Key: key, Fields: hash}
	c := &Channel{ChannelID: id, Labels: p.labels("labels"), Archived: p.bool("archived")}
	c.HeadPos = p.Number("message_pos")
	return c, p.Err
}

// Hash parses the fields of a key's hash and keeps the first error.
type Hash struct {
	Key    string
	Fields map[string]string
	Err    error
}

func (p *Hash) fail(field string, err error) {
	if p.Err == nil {
		p.Err = fmt.Errorf("redis key %q, field %s: %w", p.Key, field, err)
	}
}

// Text returns a required field.
func (p *Hash) Text(field string) string {
	v, ok := p.Fields[field]
	if !ok {
		p.fail(field, errNoField)
	}
	return v
}

// Number parses a decimal number.
func (p *Hash) Number(field string) uint32 {
	n, err := strconv.ParseUint(p.Text(field), 10, 32)
	if err != nil {
		p.fail(field, err)
	}
	return uint32(n)
}

func (p *Hash) positions(field string) events.Positions {
	set, err := events.ParsePositions(p.Text(field))
	if err != nil {
		p.fail(field, err)
	}
	return set
}

func (p *Hash) bool(field string) bool {
	is, err := strconv.ParseBool(p.Text(field))
	if err != nil {
		p.fail(field, err)
	}
	return is
}

// labels parses a JSON array of texts; nil for none.
func (p *Hash) labels(field string) (list []string) {
	v := p.Text(field)
	if v == "[]" {
		return nil
	}
	if err := json.Unmarshal([]byte(v), &list); err != nil {
		p.fail(field, err)
	}
	return list
}

// Time parses a time; zero for the empty text.
func (p *Hash) Time(field string) time.Time {
	t, err := ParseTime(p.Text(field))
	if err != nil {
		p.fail(field, err)
	}
	return t
}

// ParseTime parses an RFC 3339 time. The empty string is the zero time.
func ParseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%.60q is not a time in the form of RFC 3339", s)
	}
	return t.UTC(), nil
}
