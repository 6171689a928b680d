// Package loglimit bounds the log lines about repeated events: at most one line a second, with the
// number of its events.
package loglimit

import "time"

// Every is the shortest time between two lines.
const Every = time.Second

// Limiter counts events until a line about them is due. The zero value is ready; it is not safe for
// concurrent use.
type Limiter struct {
	last  time.Time
	count int
}

// Add counts n events.
func (l *Limiter) Add(n int) { l.count += n }

// Due returns the number of events for the next line, and resets it. It returns 0 if there are
// none, or if the last line is less than Every ago.
func (l *Limiter) Due(now time.Time) int {
	if l.count == 0 || now.Before(l.last.Add(Every)) {
		return 0
	}
	return l.rest(now)
}

// Rest is Due without the limit of time. Callers use it when they end.
func (l *Limiter) Rest() int { return l.rest(l.last) }

func (l *Limiter) rest(now time.Time) (n int) {
	n, l.count, l.last = l.count, 0, now
	return n
}

// Next returns the time when the next line is due; the zero Time if there is no event.
func (l *Limiter) Next() time.Time {
	if l.count == 0 {
		return time.Time{}
	}
	return l.last.Add(Every)
}
