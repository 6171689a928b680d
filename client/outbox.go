package client

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// maxRefusals is how often a frame is sent again if no caller waits for its answer.
const maxRefusals = 8

// entry is a frame that waits to be sent or for its answer.
type entry struct {
	frame    command
	answer   chan reply // nil: of this connection only, no caller waits
	written  chan struct{}
	sent     bool
	n        int // ascending in the order of the calls
	refusals int
}

type reply struct {
	frame Frame
	err   error
}

// outbox sends frames in the order of the calls, no faster than the gateway accepts them. It sends
// a command without an answer again on the next connection. It also repeats a command that the
// gateway refused for its rate, followed by all later commands about the same channel: otherwise an
// earlier mark would arrive after a later read and undo it.
type outbox struct {
	timeout time.Duration
	most    int

	mu      sync.Mutex
	pace    *pace
	limits  limits
	entries map[string]*entry // by the id of the frame
	waiting []*entry
	open    bool
	ended   bool
	wake    chan struct{}
	names   int
	asked   int
}

func newOutbox(timeout time.Duration, most int) *outbox {
	return &outbox{timeout: timeout, most: most, pace: newPace(), entries: map[string]*entry{}, wake: make(chan struct{}, 1)}
}

// ask sends a command, on this connection or a later one, and waits for its answer.
func (o *outbox) ask(ctx context.Context, c command) (Frame, error) {
	e, err := o.accept(c)
	if err != nil {
		return Frame{}, err
	}
	defer o.forget(e)
	timer := time.NewTimer(o.timeout)
	defer timer.Stop()
	written := e.written
	for {
		select {
		case r := <-e.answer:
			return r.frame, r.err
		case <-ctx.Done():
			return Frame{}, context.Cause(ctx)
		case <-written: // the timeout begins once it was sent
			written = nil
			timer.Reset(o.timeout)
		case <-timer.C:
			if written != nil && o.isOpen() {
				timer.Reset(o.timeout)
				continue
			}
			return Frame{}, &Error{Code: Timeout, Message: fmt.Sprintf("%s: no answer within %s", c.Type, o.timeout)}
		}
	}
}

func (o *outbox) accept(c command) (*entry, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return nil, &Error{Code: Closed, Message: c.Type + ": the device was closed"}
	}
	commands := 0
	for _, e := range o.entries {
		commands += number(e.answer != nil)
	}
	if commands >= o.most {
		return nil, &Error{Code: Overflow, Message: fmt.Sprintf("%d commands wait for an answer already", o.most)}
	}
	e := &entry{frame: c, answer: make(chan reply, 1), written: make(chan struct{})}
	o.add(e)
	return e, nil
}

// sendNow sends a frame on this connection only. It does nothing without a connection.
func (o *outbox) sendNow(c command) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open {
		o.add(&entry{frame: c, written: make(chan struct{})})
	}
}

// opened starts a connection: it sends first, and then all lasting commands.
func (o *outbox) opened(first []command, l limits) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reset()
	o.limits = l
	o.pace.allow(l)
	o.open = true
	again := o.sorted(func(*entry) bool { return true })
	for _, c := range first {
		o.add(&entry{frame: c, written: make(chan struct{})})
	}
	o.waiting = append(o.waiting, again...)
	o.signal()
}

// closed records that the connection has ended.
func (o *outbox) closed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reset()
}

// end makes all commands fail.
func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reset()
	o.ended = true
	for _, e := range o.entries {
		o.finish(e, reply{err: &Error{Code: Closed, Message: e.frame.Type + ": the device was closed"}})
	}
}

// answered handles a frame of the gateway that answers a command.
func (o *outbox) answered(f Frame, id, code, message string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.entries[id]
	switch {
	case f.Type != "error":
		o.pace.accepted()
		if e != nil {
			o.finish(e, reply{frame: f})
		}
	case code == ResourceExhausted && (e == nil || !o.tooLarge(e)):
		o.refused(e)
	case e != nil:
		o.finish(e, reply{err: &Error{Code: code, Message: message}})
	}
}

// next waits until a frame may be written, and returns its text.
func (o *outbox) next(ctx context.Context) ([]byte, error) {
	for {
		text, wait := o.pop()
		if text != nil {
			return text, nil
		}
		var timer <-chan time.Time
		if wait > 0 {
			timer = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer:
		case <-o.wake:
		}
	}
}

// pop returns the first frame that may be sent. Otherwise wait is how long to wait, 0 if there is
// no frame.
func (o *outbox) pop() (text []byte, wait time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.open && len(o.waiting) > 0 {
		if wait := o.pace.wait(); wait > 0 {
			return nil, wait
		}
		e := o.waiting[0]
		o.waiting = o.waiting[1:]
		text, err := json.Marshal(e.frame)
		if err == nil && o.limits.FrameBytes > 0 && len(text) > o.limits.FrameBytes {
			// The gateway would close this connection because of it, and the next one too.
			err = &Error{Code: ResourceExhausted, Message: fmt.Sprintf("%s: %d bytes are more than the %d that the gateway takes in a frame", e.frame.Type, len(text), o.limits.FrameBytes)}
		}
		if err != nil {
			o.finish(e, reply{err: err})
			continue
		}
		o.pace.take()
		if !e.sent {
			e.sent = true
			close(e.written)
		}
		return text, 0
	}
	return nil, 0
}

func (o *outbox) refused(e *entry) {
	o.pace.refused()
	if e == nil {
		return // it was already sent again, or its caller no longer waits
	}
	if e.refusals++; e.refusals > maxRefusals && e.answer == nil {
		o.remove(e)
		return
	}
	again := o.sorted(func(other *entry) bool {
		return other.n >= e.n && other.frame.ChannelID == e.frame.ChannelID && !slices.Contains(o.waiting, other)
	})
	for _, other := range again { // with new ids, so that answers to the first sending are ignored
		delete(o.entries, other.frame.ID)
		o.name(other)
	}
	o.waiting = slices.Concat(again, o.waiting)
	o.signal()
}

// tooLarge reports whether a command names more messages than the gateway ever accepts.
func (o *outbox) tooLarge(e *entry) bool {
	return o.limits.MessageIDs > 0 && len(e.frame.MessageIDs) > o.limits.MessageIDs
}

func (o *outbox) add(e *entry) {
	o.asked++
	e.n = o.asked
	o.name(e)
	if o.open {
		o.waiting = append(o.waiting, e)
		o.signal()
	}
}

func (o *outbox) name(e *entry) {
	o.names++
	e.frame.ID = e.frame.Type + "-" + strconv.Itoa(o.names)
	o.entries[e.frame.ID] = e
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// reset forgets the frames of the last connection.
func (o *outbox) reset() {
	o.open = false
	o.waiting = nil
	for _, e := range o.entries {
		if e.answer == nil {
			delete(o.entries, e.frame.ID)
		}
	}
}

func (o *outbox) finish(e *entry, r reply) {
	if e.answer != nil {
		select {
		case e.answer <- r:
		default:
		}
	}
	o.remove(e)
}

func (o *outbox) forget(e *entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.remove(e)
}

func (o *outbox) remove(e *entry) {
	delete(o.entries, e.frame.ID)
	o.waiting = slices.DeleteFunc(o.waiting, func(other *entry) bool { return other == e })
}

func (o *outbox) isOpen() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open
}

func (o *outbox) sorted(which func(*entry) bool) []*entry {
	var list []*entry
	for _, e := range o.entries {
		if which(e) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *entry) int { return a.n - b.n })
	return list
}
