package view

import (
	"math"

	"github.com/tidemark/tidemark/events"
)

// Position states how far the inputs of each partition were folded for an answer: next offsets, as
// in stamps.
type Position map[int32]events.Stamp

// OfInbox is the fold version of a stamp that is a position: the value includes everything up to
// there, whatever version folded it.
const OfInbox = math.MaxUint32

// PositionOf returns the position that the tokens of an as_of state. Each token names the last
// folded record of an input topic.
func PositionOf(messages, reads, deliveries string, tokens []string) Position {
	p := Position{}
	for _, token := range tokens {
		r, err := events.ParseRecordID(token)
		if err != nil {
			continue
		}
		s := p[r.Partition]
		switch r.Topic {
		case messages:
			s.M = max(s.M, r.Offset+1)
		case reads:
			s.R = max(s.R, r.Offset+1)
		case deliveries:
			s.D = max(s.D, r.Offset+1)
		}
		p[r.Partition] = s
	}
	return p
}

// Covers reports whether a state at s includes everything that a delta with stamp d includes.
func Covers(s, d *events.Stamp) bool { return s.M >= d.M && s.R >= d.R && s.D >= d.D }
