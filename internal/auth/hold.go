package auth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
)

// judgeEvery is the default of Config.JudgeEvery, the time between two checks of the callers of
// sockets and streams. Together with the time until sources are read again (refreshEvery,
// askEvery), a revoked caller is out within a minute.
const judgeEvery = 10 * time.Second

// Reasons why a token is no longer valid.
var (
	ErrExpired = errors.New("the token has expired: call again with another")
	ErrRevoked = errors.New("the token was revoked: call again with another")
)

// holds has the connected callers: sockets and streams.
type holds struct {
	every time.Duration

	mu    sync.Mutex
	all   map[*caller]struct{}
	timer *time.Timer // nil: no caller is connected
}

type caller struct {
	id     Identity
	notify func(error)

	mu   sync.Mutex
	over bool // notify has returned, or must not be called any more
}

// end calls notify once with the reason why the token is no longer valid. After a panic of notify,
// end may be called again: the caller stays connected until notify returns.
func (h *caller) end(why error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return nil
	}
	err := guard.Do("the end of what a token let in", func() { h.notify(why) })
	h.over = err == nil
	return err
}

func (h *caller) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}

// Hold calls end when the token of an identity is no longer valid: with ErrExpired at its end, and
// with ErrRevoked within a minute after its key was removed or the token was added to the list of
// revoked ones. It calls end at most once, in its own goroutine, and not after release. end must
// not call release. Without keys (v is nil) it never calls end.
func (v *Verifier) Hold(id Identity, end func(error)) (release func()) {
	if v == nil {
		return func() {}
	}
	h := &caller{id: id, notify: end}
	var expiry *time.Timer
	if !id.Expires.IsZero() {
		expiry = v.expire(h, id.Expires.Sub(v.c.Now()))
	}
	v.holds.mu.Lock()
	defer v.holds.mu.Unlock()
	v.holds.all[h] = struct{}{}
	if v.holds.timer == nil {
		v.judgeLater()
	}
	return func() {
		h.release()
		if expiry != nil {
			expiry.Stop()
		}
		v.drop(h)
	}
}

// expire ends h after a while. If that panics, it tries again later.
func (v *Verifier) expire(h *caller, after time.Duration) *time.Timer {
	return guard.AfterFunc(after, "the end of a token", func(*guard.Error) {}, func() {
		if err := h.end(ErrExpired); err != nil {
			v.c.Keys.note(fmt.Errorf("a caller whose token has expired is still connected, and is disconnected within %s: %w", v.holds.every, err))
			v.expire(h, v.holds.every)
		}
	})
}

// keep adds h again after ending it has failed.
func (v *Verifier) keep(h *caller) {
	v.holds.mu.Lock()
	defer v.holds.mu.Unlock()
	v.holds.all[h] = struct{}{}
	if v.holds.timer == nil {
		v.judgeLater()
	}
}

func (v *Verifier) drop(h *caller) {
	v.holds.mu.Lock()
	defer v.holds.mu.Unlock()
	delete(v.holds.all, h)
	if len(v.holds.all) == 0 && v.holds.timer != nil {
		v.holds.timer.Stop()
		v.holds.timer = nil
	}
}

// judgeLater schedules the next check of all callers. The lock of holds is held. A panic postpones
// the check.
func (v *Verifier) judgeLater() {
	reschedule := func(*guard.Error) {
		v.holds.mu.Lock()
		defer v.holds.mu.Unlock()
		v.judgeLater()
	}
	v.holds.timer = guard.AfterFunc(v.holds.every, "the judging of tokens", reschedule, v.judgeCallers)
}

// takeRevoked removes and returns the callers whose tokens were revoked.
func (v *Verifier) takeRevoked() (out []*caller) {
	v.holds.mu.Lock()
	defer v.holds.mu.Unlock()
	for h := range v.holds.all {
		if v.revoked(h.id) {
			out = append(out, h)
			delete(v.holds.all, h)
		}
	}
	if v.holds.timer != nil {
		v.holds.timer.Stop() // the timer of a caller who came meanwhile
		v.holds.timer = nil
	}
	if len(v.holds.all) > 0 {
		v.judgeLater()
	}
	return out
}

// judgeCallers ends the callers whose tokens were revoked.
func (v *Verifier) judgeCallers() {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	v.c.Keys.poll(ctx)
	for _, h := range v.takeRevoked() {
		if err := h.end(ErrRevoked); err != nil {
			v.c.Keys.note(fmt.Errorf("a caller whose token was revoked is still connected, and is disconnected within %s: %w", v.holds.every, err))
			v.keep(h)
		}
	}
}

// revoked reports whether an identity is no longer valid although its token has not expired. An
// identity from another node has no key here.
func (v *Verifier) revoked(id Identity) bool {
	return id.key != fingerprint{} && !v.c.Keys.has(id.key) || v.c.Revoked.has(id)
}
