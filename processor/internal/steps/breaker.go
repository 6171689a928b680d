package steps

import "github.com/tidemark/tidemark/processor/internal/setup"

// breaker counts bad records among the last records of a partition.
type breaker struct {
	setup.Breaker
	bits []bool // ring of the last records, true = bad
	at   int
	bad  int
}

func newBreaker(b setup.Breaker) *breaker { return &breaker{Breaker: b} }

// note counts one record and reports whether the partition must stop.
func (b *breaker) note(bad bool) bool {
	if len(b.bits) < b.Window {
		b.bits = append(b.bits, bad)
	} else {
		if b.bits[b.at] {
			b.bad--
		}
		b.bits[b.at] = bad
		b.at = (b.at + 1) % b.Window
	}
	if bad {
		b.bad++
	}
	return bad && !b.Off && b.bad >= b.Least && 2*b.bad > len(b.bits)
}
