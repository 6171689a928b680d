package cache

// threadReadFor is how long the pointer of a thread is kept after it moved, in seconds: 30 days (DESIGN §8).
const threadReadFor = "2592000"

// writePointer adds what brings the read pointer of d about, if it is known to have moved.
func (c *chunk) writePointer(d *delta) {
	if !d.pointerMoved() {
		return
	}
	out := &c.out
	if d.LastRead.Seq == 0 {
		out.command("del")
		c.pointerKey(d)
	} else {
		out.command("hset")
		c.pointerKey(d)
		out.str("last_read_id")
		out.text(d.LastRead.MessageID)
		out.str("last_read_at")
		out.buf = appendTime(out.buf, d.LastReadAt)
		out.end()
		if !d.thread() {
			out.str("last_read_seq")
			out.number(d.LastRead.Seq)
			return
		}
		out.command("expire")
		c.pointerKey(d)
		out.str(threadReadFor)
	}
}

// pointerMoved reports whether the read pointer of d is known to be another one than Redis has.
func (d *delta) pointerMoved() bool { return !d.maybePointer() && d.known.moved(&d.UnreadDelta) }

func (c *chunk) pointerKey(d *delta) {
	out := &c.out
	prefix, id := prefixReadPointer, d.ChannelID
	if d.thread() {
		prefix, id = prefixThreadRead, d.ThreadID
	}
	out.buf = append(append(append(append(out.buf, prefix...), d.UserID...), ':'), id...)
	out.end()
}

// maybePointer reports whether d has no read pointer, and it is not known whether Redis has one: it tells nothing of the
// pair, but the stamp of a removal does not last for ever.
func (d *delta) maybePointer() bool { return d.gone || d.LastRead.Seq == 0 && !d.known.there }

// dropPointers removes, in one command, the read pointers that may be there and must not. Nobody is told, as nobody moved
// them.
func (c *chunk) dropPointers() {
	first := true
	for i := range c.groups {
		for _, n := range c.groups[i].deltas {
			d := &c.batch.deltas[n]
			if d.state != pending || !d.maybePointer() {
				continue
			}
			if first {
				first = false
				c.out.command("del")
			}
			c.pointerKey(d)
		}
	}
}
