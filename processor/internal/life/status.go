package life

import (
	"errors"
	"fmt"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// Errors of Live, Wait and Watch. Any other error is the reason why a partition failed.
var (
	// ErrNotOwner means that another member, or none, owns the partition.
	ErrNotOwner = errors.New("this node does not own the partition")
	// ErrOpening means that the partition is being opened here and has not caught up.
	ErrOpening = errors.New("the partition is being opened on this node")
)

// Progress is how far the opening of a partition has come.
type Progress struct {
	Done  float64 // from 0 to 1
	Rate  float64 // per second: records, or bytes if Bytes
	Bytes bool    // a snapshot is being restored
	ETA   time.Duration
}

// Status describes a partition that this process owns.
type Status struct {
	Partition int32
	State     State
	Position  projections.Position // the folded position
	Ends      projections.Position // ends of the logs, as far as they are known here
	Lag       [events.NumInputs]int64

	// Restoring means that a snapshot is being restored; Rate is then in bytes a second.
	Restoring bool
	// Progress, Rate and ETA describe the opening: the share that is done, from 0 to 1, records a
	// second, and the time that is left; 0 = unknown.
	Progress float64
	Rate     float64
	ETA      time.Duration

	Full error // why it is live and yet does not fold: the disk is full
	Err  error // why it failed
	// Retry is when a failed partition is opened again; zero: it is not, by itself.
	Retry time.Time
}

// Behind returns how many records of all inputs are not folded yet.
func (s Status) Behind() (n int64) {
	for _, l := range s.Lag {
		n += l
	}
	return n
}

// String returns the status in one line, as /readyz shows it.
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
		line += fmt.Sprintf(", %d records behind", s.Behind())
		if s.Full != nil {
			line += ", does not fold: " + s.Full.Error()
		}
	}
	return line
}

// Done reports whether c is closed. Nothing is ever sent to c.
func Done(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
