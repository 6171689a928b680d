package processor

// Breaker says when a partition stops because too many of its records are bad: a broken deploy must not drain into the
// dead letters (DESIGN §3). The zero value is DESIGN's: more than half of the last 1,000 records, and at least 200.
type Breaker struct {
	// Off never stops a partition: for an operator who has seen what there is and wants it in the dead letters.
	Off bool
	// Window is how many of the last records are looked at.
	Window int
	// Least is how many of them must be bad, whatever their share.
	Least int
}

func (b Breaker) withDefaults() Breaker {
	if b.Window <= 0 {
		b.Window = 1000
	}
	if b.Least <= 0 {
		b.Least = 200
	}
	return b
}

// breaker counts the bad ones among the last records of a partition.
type breaker struct {
	Breaker
	bits []bool // ring of the last records, true = bad
	at   int
	bad  int
}

func newBreaker(b Breaker) *breaker { return &breaker{Breaker: b.withDefaults()} }

// note takes one record into account and reports whether the partition must stop.
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
