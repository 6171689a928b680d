package sink

import (
	"errors"
	"fmt"
)

// Why a record is left out.
var (
	ErrPanics   = errors.New("every attempt to read it panicked: this is a bug in Tidemark: the log has the stack")
	ErrOtherKey = errors.New("the value has other ids than the key")
)

// RecordError is about a record that a sink left out.
type RecordError struct {
	Topic     string
	Partition int32
	Offset    int64
	What      string // what did not become of it: "not cached"
	Err       error
}

// Error names the place.
func (e *RecordError) Error() string {
	return fmt.Sprintf("%s/%d/%d: %s: %v", e.Topic, e.Partition, e.Offset, e.What, e.Err)
}

// Unwrap returns what was wrong with it.
func (e *RecordError) Unwrap() error { return e.Err }
