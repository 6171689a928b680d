// Package kept keeps what was found of users who have much, from one page of an answer to the next:
// the lists of a partition's channels and threads (projections.Sweep).
//
//	kept.go  the lists that are put aside, and for how long
package kept

import (
	"container/list"
	"sync"
	"time"

	"github.com/tidemark/tidemark/projections"
)

const (
	// maxBytes is how much memory all lists together take.
	maxBytes = 16 << 20
	// keepFor is how long a list is kept without being used.
	keepFor = time.Minute
)

// Lists are lists that are put aside. A list is used by one call at a time: a second call of the
// same user at the same time makes its own.
type Lists struct {
	now func() time.Time

	mu    sync.Mutex
	byKey map[key]*list.Element
	order list.List // of *kept, the one that was used last at the front
	bytes int
}

type key struct {
	user      string
	partition int32
}

type kept struct {
	key   key
	list  *projections.Sweep
	bytes int
	since time.Time
}

// New makes Lists.
func New(now func() time.Time) *Lists { return &Lists{now: now, byKey: map[key]*list.Element{}} }

// Take hands out the list of a user in a partition: one that was put aside, or an empty one. With
// inbox the list has the user's channels, and else it may have them too.
func (l *Lists) Take(user string, partition int32, inbox bool) *projections.Sweep {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget()
	if e := l.byKey[key{user, partition}]; e != nil {
		if x := e.Value.(*kept); x.list.Inbox || !inbox {
			l.remove(e)
			return x.list
		}
	}
	return &projections.Sweep{UserID: user, Inbox: inbox, Panel: true}
}

// Put puts a complete list aside.
func (l *Lists) Put(partition int32, s *projections.Sweep) {
	bytes := s.Aside()
	if bytes == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k := key{s.UserID, partition}
	if e := l.byKey[k]; e != nil {
		if x := e.Value.(*kept); x.list.Inbox && !s.Inbox {
			s.Free() // the other one answers more questions
			return
		}
		l.drop(e)
	}
	l.byKey[k] = l.order.PushFront(&kept{k, s, bytes, l.now()})
	l.bytes += bytes
	l.forget()
}

// forget drops the lists that are too old, then those that were unused for longest, until the rest
// fits.
func (l *Lists) forget() {
	for e := l.order.Back(); e != nil; e = l.order.Back() {
		if l.bytes <= maxBytes && l.now().Sub(e.Value.(*kept).since) <= keepFor {
			return
		}
		l.drop(e)
	}
}

func (l *Lists) drop(e *list.Element) {
	l.remove(e)
	e.Value.(*kept).list.Free()
}

func (l *Lists) remove(e *list.Element) {
	x := e.Value.(*kept)
	l.order.Remove(e)
	delete(l.byKey, x.key)
	l.bytes -= x.bytes
}
