package loglimit

import "time"

// Lines keeps the last of repeated events, because a line is about the last one. T is what the line
// says of it. The zero value is ready; it is not safe for concurrent use.
type Lines[T any] struct {
	limit Limiter
	last  T
}

// Add counts n events. last describes the last of them.
func (l *Lines[T]) Add(n int, last T) {
	l.limit.Add(n)
	l.last = last
}

// Due writes a line if one is due.
func (l *Lines[T]) Due(now time.Time, write func(last T, count int)) {
	l.write(l.limit.Due(now), write)
}

// Rest is Due without the limit of time. Callers use it when they end.
func (l *Lines[T]) Rest(write func(last T, count int)) { l.write(l.limit.Rest(), write) }

// Next returns the time when the next line is due; the zero Time if there is no event.
func (l *Lines[T]) Next() time.Time { return l.limit.Next() }

func (l *Lines[T]) write(count int, write func(last T, count int)) {
	if count > 0 {
		write(l.last, count)
	}
}
