package processor

import "github.com/tidemark/tidemark/processor/internal/life"

// Errors of Live, Wait and Watch. Any other error is the reason why a partition failed.
var (
	// ErrNotOwner means that another member, or none, owns the partition.
	ErrNotOwner = life.ErrNotOwner
	// ErrOpening means that the partition is being opened here and has not caught up.
	ErrOpening = life.ErrOpening
)

// State is the phase of a partition's life in this process.
type State = life.State

// States of a partition. An opening partition is in StateOpening until its store is open, and in
// StateCatchingUp until it is live.
const (
	StateOpening    = life.Opening
	StateLive       = life.Live
	StateStopping   = life.Stopping
	StateFailed     = life.Failed
	StateClosed     = life.Closed
	StateStandby    = life.Standby
	StateCatchingUp = life.CatchingUp
)

// PartitionStatus describes a partition that this process owns.
type PartitionStatus = life.Status
