package bridge

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// The pauses between two sessions.
const (
	firstPause = 500 * time.Millisecond
	maxPause   = 30 * time.Second
)

// Bridge follows a database.
type Bridge struct {
	conf   Config
	status *status
}

// New returns a bridge. Run begins it.
func New(conf Config) *Bridge {
	if conf.part == 0 {
		conf.part = partChanges
	}
	if conf.visible == 0 {
		conf.visible = visibleWithin
	}
	return &Bridge{conf: conf, status: newStatus(conf.Metrics)}
}

// Run follows the database until ctx ends, or until an error that only a person can resolve. It
// survives restarts of the database and of the brokers.
func (b *Bridge) Run(ctx context.Context) error {
	conf, pause := &b.conf, firstPause
	for {
		begun := time.Now()
		err := b.session(ctx)
		b.status.follows(err)
		var refusal RefusedError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &refusal), errors.Is(err, errSpared), errors.Is(err, errReached):
			return err
		case fenced(err):
			return refuse("another bridge %s/%s has begun, so this one may not write any more: stop one of the two", conf.Product, conf.Slot)
		}
		if time.Since(begun) > time.Minute {
			pause = firstPause
		}
		b.status.failed.Inc()
		conf.Log.Warn("the bridge reconnects", "in", pause, "error", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
	}
}

// errSpared wraps errors of spare. errReached ends a bridge at a given position.
var (
	errSpared  = errors.New("the bridge is ended")
	errReached = errors.New("the bridge has reached its end position")
)

// fenced reports whether another producer has taken over.
func fenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch)
}
