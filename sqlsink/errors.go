package sqlsink

import (
	"errors"

	"github.com/tidemark/tidemark/internal/sink"
)

var (
	errKey = errors.New("the key is none of this topic: user 0x00 channel in tidemark.unread, channel in the others")
	// errReopen ends a session whose positions are no longer true.
	errReopen = errors.New("the database lost writes")
)

// RecordError is about a record that could not be written. It was skipped.
type RecordError = sink.RecordError
