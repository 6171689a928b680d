// Package kept keeps the lists of users with many channels or threads (projections.Sweep) from one
// page of an answer to the next.
//
//	kept.go  the lists that are put aside, and how long they are kept
package kept

import (
	"container/list"
	"sync"
	"time"

	"github.com/tidemark/tidemark/projections"
)

const (
	// maxBytes is the memory of all lists together.
	maxBytes = 16 << 20
	// keepFor is how long an unused list is kept.
	keepFor = time.Minute
)

// Lists are lists that are put aside. Only one call at a time uses a list: a concurrent call of the
// same user makes its own.
type Lists struct {
	now func() time.Time

	mu    sync.Mutex
	byKey map[key]*list.Element
	order list.List // of *kept, the most recently used one at the front
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

// New creates Lists.
func New(now func() time.Time) *Lists { return &Lists{now: now, byKey: map[key]*list.Element{}} }

// Take returns the list of a user in a partition: one that was put aside, or an empty one. With
// inbox set, the list has the user's channels; otherwise it may have them too.
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
			s.Free() // the other list answers more questions
			return
		}
		l.drop(e)
	}
	l.byKey[k] = l.order.PushFront(&kept{k, s, bytes, l.now()})
	l.bytes += bytes
	l.forget()
}

// forget drops the lists that are too old, then the least recently used ones until the rest fits.
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
