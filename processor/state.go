package processor

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// Errors of Live, Wait and Watch. Others are the reason why a partition failed.
var (
	// ErrNotOwner says that another member has the partition, or none has.
	ErrNotOwner = errors.New("this node does not own the partition")
	// ErrOpening says that the partition is being opened here and has not caught up.
	ErrOpening = errors.New("the partition is being opened on this node")
)

// State says how far a partition is on its way through this process.
type State uint8

// States of a partition.
const (
	StateOpening  State = iota // its store is opened, or records are folded that were published before
	StateLive                  // it publishes, and answers queries
	StateStopping              // it finishes what it has begun
	StateFailed                // it stopped; see Err
	StateClosed                // it is given away
	StateStandby               // another member owns it, and this one follows
)

var stateNames = [...]string{"opening", "live", "stopping", "failed", "closed", "standby"}

// String is the state in one word.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "State(" + strconv.Itoa(int(s)) + ")"
}

// PartitionStatus is what is known of a partition that this process owns.
type PartitionStatus struct {
	Partition int32
	State     State
	Position  projections.Position // what is folded
	Ends      projections.Position // ends of the logs as known here
	Lag       [events.NumInputs]int64

	// Restoring says that a snapshot is being brought; Rate is in bytes a second then.
	Restoring bool
	// While it opens: the share that is done, from 0 to 1, records a second, and how long it will take; 0 = unknown.
	Progress float64
	Rate     float64
	ETA      time.Duration

	Full error // why it is live and yet does not fold: the disk is full
	Err  error // why it failed
	// Retry is when a partition that failed is opened again; zero: not by itself.
	Retry time.Time
}

// String is the status in one line, as /readyz shows it.
func (s PartitionStatus) String() string {
	line := fmt.Sprintf("partition %d %s", s.Partition, s.State)
	switch s.State {
	case StateOpening:
		if s.Full != nil {
			return line + ": " + s.Full.Error()
		}
		if s.Restoring {
			line += fmt.Sprintf(", restoring a snapshot: %.1f%%, %.1f MB/s, %s left", 100*s.Progress, s.Rate/1e6, s.ETA.Round(time.Second))
			break
		}
		line += fmt.Sprintf(" %.1f%%", 100*s.Progress)
		if s.ETA > 0 {
			line += fmt.Sprintf(", %.0f records/s, %s left", s.Rate, s.ETA.Round(time.Second))
		}
	case StateFailed:
		line += ": " + s.Err.Error()
		if !s.Retry.IsZero() {
			line += "; tried again at " + s.Retry.UTC().Format(time.TimeOnly) + " UTC"
		}
	case StateLive, StateStopping, StateClosed, StateStandby:
		var lag int64
		for _, l := range s.Lag {
			lag += l
		}
		line += fmt.Sprintf(", %d records behind", lag)
		if s.Full != nil {
			line += ", does not fold: " + s.Full.Error()
		}
	}
	return line
}
