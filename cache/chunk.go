package cache

import (
	"github.com/tidemark/tidemark/cache/internal/format"
	"github.com/tidemark/tidemark/events"
)

// chunkValues is how many values are written by one transaction. Redis does nothing else while it
// runs: about 1 ms.
const chunkValues = 500

// chunk is a part of a batch that is written by one transaction.
type chunk struct {
	batch    *batch
	parts    []*part // the partitions of its values
	groups   []group
	channels []int32
	values   int
	slot     int // field of its mark; see written.go

	out     commands
	lookups []lookup

	marked        bool // an earlier attempt may have left the mark
	keepThreads   bool // Config.ThreadsAlways
	format        format.Format
	whole         events.UnreadDelta // for listeners
	tried         bool               // an earlier attempt may have written the whole chunk
	listened      []int32            // groups with something to publish
	pointersHeard bool               // read pointers have listeners
}

// group is deltas of one user.
type group struct {
	user   *user
	deltas []int32
	asked  bool // some of its deltas need a query to Redis
	heard  bool // the user has listeners
}

func (c *chunk) reset(b *batch) {
	c.batch, c.values, c.tried, c.marked = b, 0, false, false
	c.parts, c.groups, c.channels = c.parts[:0], c.groups[:0], c.channels[:0]
}

// full reports whether the chunk is large enough.
func (c *chunk) full() bool { return c.values >= chunkValues }

func (c *chunk) addPart(p *part) {
	for _, have := range c.parts {
		if have == p {
			return
		}
	}
	c.parts = append(c.parts, p)
}

// addUser adds the deltas of u that must be written, from number next on, until the chunk is full.
// It returns the number of the next delta, or -1.
func (c *chunk) addUser(u *user, next int32) int32 {
	var g *group
	for ; next >= 0 && !c.full(); next = c.batch.deltas[next].next {
		d := &c.batch.deltas[next]
		if d.state != pending {
			continue
		}
		if g == nil {
			c.addPart(u.part)
			c.groups = grow(c.groups)
			g = &c.groups[len(c.groups)-1]
			g.user, g.deltas, g.asked = u, g.deltas[:0], false
		}
		g.deltas = append(g.deltas, next)
		g.asked = g.asked || d.asked
		c.values++
	}
	return next
}

// addChannel adds record i if it must be written.
func (c *chunk) addChannel(i int32) {
	r := &c.batch.channels[i]
	if r.state != pending {
		return
	}
	c.addPart(r.part)
	c.channels = append(c.channels, i)
	c.values++
}

// writes returns the commands that write the pending values, leave the mark and query for
// listeners. It returns none if all values were skipped.
func (c *chunk) writes(goneFor string) [][]any {
	c.out.Reset()
	c.dropPointers() // before the writes, because two users may share a key
	for i := range c.groups {
		c.writeGroup(&c.groups[i], goneFor)
	}
	if c.writeChannels(goneFor) {
		c.out.Command("set")
		c.out.Str(updatedKey)
		c.out.Str("1")
	}
	if c.needsMark() {
		c.mark()
	}
	c.audience()
	return c.out.List()
}

// needs are the commands that a group needs.
type needs uint8

const (
	needsSet needs = 1 << iota
	needsDrop
	needsSetThread
	needsDropThread
	needsForget // of a removal's stamp
	needsStamp  // of a removal
)

// needs returns the commands that d needs, except for its pointer.
func (d *delta) needs() (n needs) {
	switch {
	case d.gone:
		n = needsDrop | needsForget
	case !d.now.member:
		n = needsDrop | needsStamp
	case d.known.there && !d.known.member:
		n = needsSet | needsForget
	default:
		n = needsSet
	}
	if d.thread() { // in a hash of its own; removals share one
		n = n&(needsForget|needsStamp) | n&(needsSet|needsDrop)<<2
	}
	return n
}

// writeGroup adds one command for each hash of the user, and one for each read pointer that moved.
func (c *chunk) writeGroup(g *group, goneFor string) {
	out, id := &c.out, g.user.id
	all := needs(0)
	for _, n := range g.deltas {
		if d := &c.batch.deltas[n]; d.state == pending {
			all |= d.needs()
		}
	}
	each := func(need needs, name, prefix string, args func(d *delta)) {
		if all&need == 0 {
			return
		}
		out.Command(name)
		out.key(prefix, id)
		for _, n := range g.deltas {
			if d := &c.batch.deltas[n]; d.state == pending && d.needs()&need != 0 {
				out.field(d)
				args(d)
			}
		}
	}
	value := func(d *delta) { out.Text(c.batch.values[d.from:d.to]) }
	none := func(*delta) {}
	each(needsSet, "hset", prefixInbox, value)
	each(needsDrop, "hdel", prefixInbox, none)
	each(needsSetThread, "hset", prefixInboxThreads, value)
	each(needsDropThread, "hdel", prefixInboxThreads, none)
	each(needsForget, "hdel", prefixInboxGone, none)
	each(needsStamp, "hset", prefixInboxGone, func(d *delta) {
		out.Buf = append(d.now.stamp.Append(out.Buf), '.')
		out.Number(d.now.seq)
	})
	if all&needsStamp != 0 {
		out.Command("expire")
		out.key(prefixInboxGone, id)
		out.Str(goneFor)
	}
	if c.format.NoPointers {
		return
	}
	for _, n := range g.deltas {
		if d := &c.batch.deltas[n]; d.state == pending {
			c.writePointer(d)
		}
	}
}

// done marks the pending values as applied.
func (c *chunk) done() {
	for i := range c.groups {
		for _, n := range c.groups[i].deltas {
			if d := &c.batch.deltas[n]; d.state == pending {
				d.state = applied
			}
		}
	}
	for _, i := range c.channels {
		if r := &c.batch.channels[i]; r.state == pending {
			r.state = applied
		}
	}
}
