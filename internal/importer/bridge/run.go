package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/importer"
	"github.com/tidemark/tidemark/internal/importer/source"
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
	reached func(source.LSN) bool // whether the bridge ends once everything before a position is written
}

// Refusal is a reason that does not go away by itself.
type Refusal struct{ error }

// Unwrap returns the reason.
func (r Refusal) Unwrap() error { return r.error }

func refuse(format string, args ...any) error { return Refusal{fmt.Errorf(format, args...)} }

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
func New(conf Config) *Bridge { return &Bridge{conf: conf, status: newStatus(conf.Metrics)} }

// Run follows the database until ctx ends, or until a person has to decide. It outlives restarts of
// the database and of the brokers.
func (b *Bridge) Run(ctx context.Context) error {
	conf, pause := &b.conf, firstPause
	for {
		begun := time.Now()
		err := b.session(ctx)
		b.status.follows(err)
		var refusal Refusal
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

// begin loads the state that the bridge goes on from, and refuses where it cannot.
func begin(conf *Config, state *importer.State, held *source.Held) (source.LSN, error) {
	name := conf.Product + "/" + conf.Slot
	if state == nil {
		return 0, refuse("there is no import %s in these topics: begin with `tidemark import %s --slot %s`, and the same --topic-prefix", name, conf.Product, conf.Slot)
	}
	if !state.Done() {
		return 0, refuse("the import %s is not done: give its command again, it goes on where it was; then start the bridge", name)
	}
	if state.Source != conf.Source {
		return 0, refuse("the import %s was of %s, and --source is %s", name, state.Source, conf.Source)
	}
	from, err := source.ParseLSN(state.LSN)
	if state.LSN == "" || err != nil {
		return 0, refuse("the import %s made no replication slot, so what changed since is not known: import again into fresh topics, with --slot", name)
	}
	if held == nil {
		return 0, refuse("the database has no replication slot %s any more: what changed since %v is lost to the bridge; import again into fresh topics, with --slot", conf.Slot, from)
	}
	if held.Status == "lost" {
		return 0, refuse("the database has removed WAL that the slot %s needs (max_slot_wal_keep_size): what changed since %v is lost to the bridge; "+
			"remove the slot with `tidemark import --drop-slot`, and import again into fresh topics", conf.Slot, from)
	}
	if held.Confirmed > from {
		return 0, refuse("somebody else has read the slot %s up to %v, and the bridge has written up to %v: what is between is lost to the bridge; "+
			"remove the slot with `tidemark import --drop-slot`, and import again into fresh topics", conf.Slot, held.Confirmed, from)
	}
	return from, nil
}
