package life

import (
	"errors"
	"fmt"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// Errors of Live, Wait and Watch. Others are the reason why a partition failed.
var (
	// ErrNotOwner means that another member owns the partition, or none does.
	ErrNotOwner = errors.New("this node does not own the partition")
	// ErrOpening means that the partition is being opened here and has not caught up.
	ErrOpening = errors.New("the partition is being opened on this node")
)

// Progress is how far the opening of a partition has come.
type Progress struct {
	Done  float64 // share, from 0 to 1
	Rate  float64 // records a second, or bytes
	Bytes bool    // a snapshot is being restored
	ETA   time.Duration
}

// Status describes a partition that this process owns.
type Status struct {
	Partition int32
	State     State
	Position  projections.Position // what is folded
	Ends      projections.Position // ends of the logs as known here
	Lag       [events.NumInputs]int64

	// Restoring means that a snapshot is being restored; Rate is then in bytes a second.
	Restoring bool
	// While it opens: the share that is done, from 0 to 1, records a second, and how long it will
	// take; 0 = unknown.
	Progress float64
	Rate     float64
	ETA      time.Duration

	Full error // why it is live and yet does not fold: the disk is full
	Err  error // why it failed
	// Retry is when a partition that failed is opened again; zero: not by itself.
	Retry time.Time
}

// String is the status in one line, as /readyz shows it.
func (s Status) String() string {
	line := fmt.Sprintf("partition %d %s", s.Partition, s.State)
	switch s.State {
	case Opening, CatchingUp:
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
	case Failed:
		line += ": " + s.Err.Error()
		if !s.Retry.IsZero() {
			line += "; tried again at " + s.Retry.UTC().Format(time.TimeOnly) + " UTC"
		}
	case Live, Stopping, Closed, Standby:
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

// Done reports whether a channel that nothing is sent to is closed.
func Done(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
