package loading

import (
	"fmt"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// ending reads the ending of the log of the channel with an id from the channel's own record, and whether
// the log waits. flags are those of the record.
func (l Loader) ending(id []byte, c *state.Channel, flags uint8, r *wire.Reader) (e state.Ending, waits bool, err error) {
	e, err = l.LoadEnding(c, flags, r)
	if err != nil || r.Err != nil || !l.LogWaits(c, e) {
		return e, false, err
	}
	if e.Bound {
		if e.Next, err = l.endOfBlock(id, c); err != nil {
			return e, false, fmt.Errorf("log of channel %q, block 0: %w", id, err)
		}
		e.Bound = false
	}
	return e, l.LogWaits(c, e), nil
}

// endOfBlock returns the log time of the last message of a log's first block.
func (l Loader) endOfBlock(id []byte, c *state.Channel) (int64, error) {
	block, err := l.BlockOf(id, 0)
	var last history.Entry
	if err == nil {
		err = history.BlockEntry(block, history.BlockLen, l.SeedOf(c)+history.BlockLen, &last)
	}
	return last.LogTime, err
}
