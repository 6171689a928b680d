package alarm

import "container/heap"

// Alarm is one moment of a T, in Of. A new Alarm is not pending. An alarm belongs to one set or
// queue.
type Alarm[T any] struct {
	Of T

	at    int64 // Unix milliseconds
	place int   // in the heap, plus 1; 0: not pending
}

// At returns the moment of an alarm of a queue, in Unix milliseconds, and 0 if it is not pending.
func (a *Alarm[T]) At() int64 {
	if a.place == 0 {
		return 0
	}
	return a.at
}

// Queue is a set of alarms in the order of their moments, for one goroutine at a time. The zero
// value is ready to use.
type Queue[T any] struct{ pending pending[T] }

// Put sets an alarm for a moment, in Unix milliseconds, instead of its previous one. It reports
// whether no other alarm comes before it.
func (q *Queue[T]) Put(a *Alarm[T], at int64) (first bool) {
	a.at = at
	if a.place == 0 {
		heap.Push(&q.pending, a)
	} else {
		heap.Fix(&q.pending, a.place-1)
	}
	return a.place == 1
}

// Drop cancels an alarm if it is pending.
func (q *Queue[T]) Drop(a *Alarm[T]) {
	if a.place > 0 {
		heap.Remove(&q.pending, a.place-1)
	}
}

// First returns the earliest moment; false if nothing is pending.
func (q *Queue[T]) First() (at int64, pending bool) {
	if len(q.pending) == 0 {
		return 0, false
	}
	return q.pending[0].at, true
}

// Take removes the first alarm and returns its T. There must be one.
func (q *Queue[T]) Take() T { return heap.Pop(&q.pending).(*Alarm[T]).Of }

// Len returns how many alarms are pending.
func (q *Queue[T]) Len() int { return len(q.pending) }

// pending is a heap of alarms, the earliest first.
type pending[T any] []*Alarm[T]

func (p pending[T]) Len() int           { return len(p) }
func (p pending[T]) Less(i, j int) bool { return p[i].at < p[j].at }
func (p pending[T]) Swap(i, j int) {
	p[i], p[j] = p[j], p[i]
	p[i].place, p[j].place = i+1, j+1
}

// Push implements heap.Interface.
func (p *pending[T]) Push(x any) {
	a := x.(*Alarm[T])
	*p = append(*p, a)
	a.place = len(*p)
}

// Pop implements heap.Interface.
func (p *pending[T]) Pop() any {
	last := len(*p) - 1
	a := (*p)[last]
	(*p)[last] = nil
	*p = (*p)[:last]
	a.place = 0
	return a
}
