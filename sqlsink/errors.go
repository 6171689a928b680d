package sqlsink

import (
	"errors"
	"fmt"
)

var (
	errKey      = errors.New("the key is none of this topic: user 0x00 channel in tidemark.unread, channel in the others")
	errPanics   = errors.New("the try to take it panicked: this is a bug in Tidemark: the log has the stack")
	errOtherKey = errors.New("the value is about other ids than the key")
	// errReopen ends a session whose positions are no longer true.
	errReopen = errors.New("the database lost writes")
)

// RecordError is about a record that could not be written. It was skipped.
type RecordError struct {
	Topic     string
	Partition int32
	Offset    int64
	Err       error
}

// Error names the place.
func (e *RecordError) Error() string {
	return fmt.Sprintf("%s/%d/%d: not written to SQL: %v", e.Topic, e.Partition, e.Offset, e.Err)
}

// Unwrap returns what was wrong with it.
func (e *RecordError) Unwrap() error { return e.Err }
