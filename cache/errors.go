package cache

import (
	"errors"

	"github.com/tidemark/tidemark/internal/sink"
)

// ErrMiss is a reader's error if Redis has no answer: the key does not exist, or Redis is not
// complete. Ask the query service. A miss is never zero.
var ErrMiss = errors.New("not in the cache")

var (
	errKey = errors.New("the key does not have this topic's form: user 0x00 channel in tidemark.unread, channel in tidemark.channels")
	// errReopen ends a session whose cursors are no longer valid.
	errReopen = errors.New("redis lost writes")
)

// RecordError is the error of a record that could not be cached and was skipped.
type RecordError = sink.RecordError
