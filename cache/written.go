package cache

import (
	"slices"
	"strconv"
)

// A cursor moves because Redis has acknowledged everything before it. A replica that becomes the
// primary in between may lack some of those values, and if the cursor moved there, no owner would
// read them again. So each transaction leaves a mark, and a cursor moves only if Redis has the
// marks of its batch. A replica applies the writes of its primary in order, so a replica with the
// mark has the values. The mark also covers values that were found in Redis and not written, as
// after a crash: their writer may have crashed before it moved its cursor past them. Marks expire a
// day after their writer's last batch.

// written identifies the transactions that wrote a batch.
type written struct {
	key   string // of the writer's marks
	batch int64  // the value of the marks
	slots []int  // its fields, one for each transaction of a batch
}

// markedFor is how long marks are kept after their writer's last batch, in seconds.
const markedFor = "86400"

// mark adds the commands that write the chunk's mark.
func (c *chunk) mark() {
	out := &c.out
	out.Command("hset")
	out.Str(c.batch.written.key)
	out.Str(strconv.Itoa(c.slot))
	out.Str(strconv.FormatInt(c.batch.written.batch, 10))
	out.Command("expire")
	out.Str(c.batch.written.key)
	out.Str(markedFor)
}

// needsMark reports whether a cursor will move past some of the chunk's values, because not all of
// them have other owners by now.
func (c *chunk) needsMark() bool {
	for i := range c.groups {
		for _, n := range c.groups[i].deltas {
			if c.batch.deltas[n].state != skipped {
				return true
			}
		}
	}
	return slices.ContainsFunc(c.channels, func(i int32) bool { return c.batch.channels[i].state != skipped })
}

// args appends the arguments about the marks for the script that moves cursors.
func (w *written) args(args []any) []any {
	args = append(args, w.batch, len(w.slots))
	for _, slot := range w.slots {
		args = append(args, slot)
	}
	return args
}
