package demo

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/traffic"
)

// Driver writes the events of a scenario.
type Driver struct {
	Client   *kgo.Client // must partition by murmur2 of the key, as kgo does by default
	Scenario *Scenario
	// Topics are the names of the input topics. Zero: events.InputTopics.
	Topics [events.NumInputs]string
	Logger *slog.Logger

	control atomic.Pointer[Control]
}

// Control sets the behaviour of a running demo. The zero value lets it run.
type Control struct {
	Paused bool
	Away   []string // users that a person plays
}

// Control returns the current behaviour.
func (d *Driver) Control() Control {
	if c := d.control.Load(); c != nil {
		return *c
	}
	return Control{}
}

// SetControl takes effect from the next step on.
func (d *Driver) SetControl(c Control) { d.control.Store(&c) }

// pausedPoll is how often a paused demo checks whether it may continue.
const pausedPoll = 200 * time.Millisecond

// Run writes the setup, then step after step until ctx is done, which is no error. It does not wait
// for acknowledgements. If Kafka accepts none for a while, the client holds a bounded number of
// events, and Run waits.
func (d *Driver) Run(ctx context.Context) error {
	if d.Topics == [events.NumInputs]string{} {
		d.Topics = events.InputTopics
	}
	if err := d.produce(ctx, d.Scenario.Setup()); err != nil {
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		c := d.Control()
		d.Scenario.SetAway(c.Away)
		step := Step{Pause: pausedPoll}
		if !c.Paused {
			step = d.Scenario.Next()
		}
		timer.Reset(step.Pause)
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if err := d.produce(ctx, step.Events); err != nil {
			return err
		}
	}
}

func (d *Driver) produce(ctx context.Context, list []proto.Message) error {
	for _, e := range list {
		r, err := traffic.Record(e, func(in events.Input) string { return d.Topics[in] })
		if err != nil {
			return fmt.Errorf("demo: encode %v: %w", e, err)
		}
		d.Client.Produce(ctx, r,
			func(r *kgo.Record, err error) {
				if err != nil && ctx.Err() == nil {
					d.Logger.Warn("demo: an event was not written", "topic", r.Topic, "key", string(r.Key), "err", err)
				}
			})
	}
	return nil
}
