package cache

import (
	"errors"
	"fmt"
)

// ErrMiss is what a reader answers while Redis cannot say: the key is not there, or Redis is not
// complete. Ask the query service. A miss is never zero.
var ErrMiss = errors.New("not in the cache")

var (
	errKey      = errors.New("the key is none of this topic: user 0x00 channel in tidemark.unread, channel in tidemark.channels")
	errPanics   = errors.New("each try to take it panicked: this is a bug in Tidemark: the log has the stack")
	errOtherKey = errors.New("the value is about other ids than the key")
	// errReopen ends a session whose cursors are no longer true.
	errReopen = errors.New("redis lost writes")
)

// RecordError is about a record that could not be cached. It was skipped.
type RecordError struct {
	Topic     string
	Partition int32
	Offset    int64
	Err       error
}

// Error names the place.
func (e *RecordError) Error() string {
	return fmt.Sprintf("%s/%d/%d: not cached: %v", e.Topic, e.Partition, e.Offset, e.Err)
}

// Unwrap returns what was wrong with it.
func (e *RecordError) Unwrap() error { return e.Err }
