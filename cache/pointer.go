package cache

import "github.com/tidemark/tidemark/internal/jsonw"

// threadReadFor is how long the pointer of a thread is kept after it moved, in seconds: 30 days
// (DESIGN §8), unless threads are listed forever.
const threadReadFor = "2592000"

// writePointer adds the commands that set or remove the read pointer of d, if d certainly moves it.
func (c *chunk) writePointer(d *delta) {
	if c.noPointer(d) || !d.pointerMoved() {
		return
	}
	out := &c.out
	if d.now.seq == 0 {
		out.Command("del")
		c.pointerKey(d)
	} else {
		out.Command("hset")
		c.pointerKey(d)
		out.Str("last_read_id")
		out.Text(d.lastRead)
		out.Str("last_read_at")
		if d.now.at != 0 || !d.thread() { // the pointer of a thread that was read with its channel has no time
			out.Buf = jsonw.AppendTime(out.Buf, d.now.at)
		}
		out.End()
		if !d.thread() {
			out.Str("last_read_seq")
			out.Number(d.now.seq)
			return
		}
		if c.keepThreads {
			out.Command("persist") // it may have been written while threads were listed for 30 days
			c.pointerKey(d)
			return
		}
		out.Command("expire")
		c.pointerKey(d)
		out.Str(threadReadFor)
	}
}

// noPointer reports whether the key of d's pointer is left out.
func (c *chunk) noPointer(d *delta) bool {
	return c.format.NoPointers || d.thread() && c.format.NoThreads
}

// pointerMoved reports whether d certainly moves the read pointer in Redis.
func (d *delta) pointerMoved() bool { return !d.maybePointer() && d.known.moved(&d.now) }

func (c *chunk) pointerKey(d *delta) {
	prefix, id := prefixReadPointer, d.channelID()
	if d.thread() {
		prefix, id = prefixThreadRead, d.threadID()
	}
	c.out.keyOf(prefix, d.userID(), id)
}

// maybePointer reports whether d has no read pointer while Redis may have one. Redis then has
// nothing else of the pair, but that does not prove that there is no pointer: the stamp of a
// removal may expire before the pointer.
func (d *delta) maybePointer() bool { return d.gone || d.now.seq == 0 && !d.known.there }

// dropPointers removes, in one command, the read pointers that maybePointer found. It publishes
// nothing, because no user moved them.
func (c *chunk) dropPointers() {
	if c.format.NoPointers {
		return
	}
	first := true
	for i := range c.groups {
		for _, n := range c.groups[i].deltas {
			d := &c.batch.deltas[n]
			if d.state != pending || !d.maybePointer() || c.noPointer(d) {
				continue
			}
			if first {
				first = false
				c.out.Command("del")
			}
			c.pointerKey(d)
		}
	}
}
