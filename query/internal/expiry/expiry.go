// Package expiry notifies streams when levels of channels end.
//
//	expiry.go one timer for the levels of all streams of a node
package expiry

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tidemark/tidemark/internal/alarm"
	"github.com/tidemark/tidemark/internal/guard"
)

// Clock waits for the ends of levels. All streams of a node share its one timer, which does not run
// while no stream has any level.
type Clock struct {
	set *alarm.Set[end]

	mu      sync.Mutex
	streams int
	stop    context.CancelFunc

	failed func(*guard.Error)
}

// end is the end of a channel's level.
type end struct {
	stream    *Stream
	channelID string
}

// New creates a clock, which calls failed after a panic.
func New(now func() time.Time, failed func(*guard.Error)) *Clock {
	return &Clock{set: alarm.New(now, func(e end) { e.stream.notify(e.channelID) }), failed: failed}
}

// Stream collects the channels of one stream whose level has ended. It coalesces: it holds each
// channel once.
type Stream struct {
	clock  *Clock
	signal chan struct{}
	alarms map[string]*alarm.Alarm[end] // by channel; pending alarms, and some that rang

	mu  sync.Mutex
	due map[string]struct{}
}

// Stream creates a stream. Only one goroutine may call its methods.
func (c *Clock) Stream() *Stream {
	return &Stream{clock: c, signal: make(chan struct{}, 1), due: map[string]struct{}{}}
}

// Put sets when the level of a channel ends, in Unix milliseconds; 0: never.
func (s *Stream) Put(channelID string, at int64) {
	a := s.alarms[channelID]
	switch {
	case at == 0 && a == nil:
		return
	case at == 0:
		s.clock.set.Drop(a)
		delete(s.alarms, channelID)
		return
	case a == nil:
		if s.alarms == nil {
			s.alarms = map[string]*alarm.Alarm[end]{}
			s.clock.enter()
		}
		a = &alarm.Alarm[end]{Of: end{s, channelID}}
		s.alarms[channelID] = a
	}
	s.clock.set.Put(a, at)
}

// Signal receives when Due has something to return.
func (s *Stream) Signal() <-chan struct{} { return s.signal }

// Due returns the channels whose level has ended since the last call, in no particular order.
func (s *Stream) Due() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := slices.AppendSeq(make([]string, 0, len(s.due)), maps.Keys(s.due))
	clear(s.due)
	return ids
}

// Stop ends the stream.
func (s *Stream) Stop() {
	if s.alarms == nil {
		return
	}
	for _, a := range s.alarms {
		s.clock.set.Drop(a)
	}
	s.alarms = nil
	s.clock.leave()
}

func (s *Stream) notify(channelID string) {
	s.mu.Lock()
	s.due[channelID] = struct{}{}
	s.mu.Unlock()
	select {
	case s.signal <- struct{}{}:
	default: // an earlier signal is still pending
	}
}

// enter starts the timer with the first stream that has levels.
func (c *Clock) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams++; c.streams > 1 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	guard.Go("the clock of levels", c.failed, func() { c.set.Run(ctx) })
}

// leave stops the timer with the last one.
func (c *Clock) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams--; c.streams == 0 {
		c.stop()
	}
}
