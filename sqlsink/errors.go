package sqlsink

import (
	"errors"

	"github.com/tidemark/tidemark/internal/sink"
)

var (
	errKey = errors.New("the key does not have this topic's form: user 0x00 channel in tidemark.unread, channel in the others")
	// errReopen ends a session whose positions differ from those in the database.
	errReopen = errors.New("the database lost writes")
)

// RecordError is the error of a record that could not be written and was skipped.
type RecordError = sink.RecordError
