package cache

import "strconv"

// A cursor moves on because Redis has answered that it holds everything before it. A replica that becomes the primary in
// between may hold less, and its cursor is no older than it was: nothing would be read again. So each transaction leaves
// a mark, and a cursor moves on only where those of its batch are found. A replica has what its primary did in the order
// in which it was done: where the mark is, there are the values. Marks go a day after their writer's last batch.

// written is which transactions wrote a batch.
type written struct {
	key   string // of the writer's marks
	batch int64  // what a mark says
	slots []int  // its fields, one for each transaction of a batch
}

// mark adds the command that leaves the chunk's mark.
func (c *chunk) mark() {
	out := &c.out
	out.command("hset")
	out.str(c.batch.written.key)
	out.str(strconv.Itoa(c.slot))
	out.str(strconv.FormatInt(c.batch.written.batch, 10))
}

// args are what the script that moves cursors on is told of the marks.
func (w *written) args(args []any) []any {
	args = append(args, w.batch, len(w.slots))
	for _, slot := range w.slots {
		args = append(args, slot)
	}
	return args
}
