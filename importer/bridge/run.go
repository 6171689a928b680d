package bridge

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/config"
)

// Config describes a bridge.
type Config struct {
	Kafka   config.Kafka
	Prefix  string // of the topics' names
	Product string
	Slot    string
	DSN     string // of the database
	Source  string // the same for messages, without user and password
	Log     *slog.Logger
	Metrics prometheus.Registerer // nil: none

	spare   func() error          // called after each event and after each batch: an error ends the bridge as a kill would
	part    int                   // changes of a transaction that are written at once
	reached func(source.LSN) bool // whether the bridge ends once everything before a position is written
}

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
	return &Bridge{conf: conf, status: newStatus(conf.Metrics)}
}

// Run follows the database until ctx ends, or until a person has to decide. It outlives restarts of
// the database and of the brokers.
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
			return refuse("another bridge %s/%s has begun, and this one may not write any more: stop one of the two", conf.Product, conf.Slot)
		}
		if time.Since(begun) > time.Minute {
			pause = firstPause
		}
		b.status.failed.Inc()
		conf.Log.Warn("the bridge begins again", "in", pause, "error", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
	}
}

// errSpared wraps errors of spare, and errReached ends a bridge that was to end somewhere.
var (
	errSpared  = errors.New("the bridge is ended")
	errReached = errors.New("the bridge is where it was to end")
)

// fenced reports whether another producer has taken over.
func fenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch)
}
