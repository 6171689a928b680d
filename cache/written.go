package cache

import (
	"slices"
	"strconv"
)

// A cursor moves on because Redis has answered that it holds everything before it. A replica that becomes the primary in
// between may hold less, and its cursor is no older than it was: nothing would be read again. So each transaction leaves
// a mark, and a cursor moves on only where those of its batch are found. A replica has what its primary did in the order
// in which it was done: where the mark is, there are the values. That holds as well for those that were found in Redis and
// not written, as after a crash: whoever wrote them may not have moved a cursor over them, and will not any more. Marks go
// a day after their writer's last batch.

// written is which transactions wrote a batch.
type written struct {
	key   string // of the writer's marks
	batch int64  // what a mark says
	slots []int  // its fields, one for each transaction of a batch
}

// markedFor is how long marks outlive their writer, in seconds.
const markedFor = "86400"

// mark adds the commands that leave the chunk's mark.
func (c *chunk) mark() {
	out := &c.out
	out.command("hset")
	out.str(c.batch.written.key)
	out.str(strconv.Itoa(c.slot))
	out.str(strconv.FormatInt(c.batch.written.batch, 10))
	out.command("expire")
	out.str(c.batch.written.key)
	out.str(markedFor)
}

// vouches reports whether a cursor will move over some of the chunk's values: they are not all other owners' now.
func (c *chunk) vouches() bool {
	for i := range c.groups {
		for _, n := range c.groups[i].deltas {
			if c.batch.deltas[n].state != skipped {
				return true
			}
		}
	}
	return slices.ContainsFunc(c.channels, func(i int32) bool { return c.batch.channels[i].state != skipped })
}

// args are what the script that moves cursors on is told of the marks.
func (w *written) args(args []any) []any {
	args = append(args, w.batch, len(w.slots))
	for _, slot := range w.slots {
		args = append(args, slot)
	}
	return args
}
