package cache

import (
	"strconv"

	"github.com/tidemark/tidemark/events"
)

// chunkValues is how many values are written by one transaction. Redis does nothing else while it runs: about 1 ms.
const chunkValues = 500

// chunk is a part of a batch that is written by one transaction.
type chunk struct {
	batch    *batch
	parts    []*part // that it writes to
	groups   []group
	channels []int32
	values   int
	slot     int // of its mark; see written.go

	out  commands
	asks []ask

	marked        bool    // an attempt may have left the mark
	tried         bool    // an earlier attempt may have written all of it
	listened      []int32 // groups with something to publish
	pointersHeard bool    // somebody listens to pointers that move
}

// group is deltas of one user.
type group struct {
	user   *user
	deltas []int32
	asked  bool // Redis must be asked about some of them
	heard  bool // somebody listens to this user
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

// addUser adds the deltas of u that are to be written, beginning with number next, until the chunk is full. It returns
// the number of the first that is left, -1 for none.
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

// addChannel adds record i if it is to be written.
func (c *chunk) addChannel(i int32) {
	r := &c.batch.channels[i]
	if r.state != pending {
		return
	}
	c.addPart(r.part)
	c.channels = append(c.channels, i)
	c.values++
}

// writes are the commands that write what is pending, leave the mark and ask who wants to hear of it, none if all was skipped.
func (c *chunk) writes(goneFor string) [][]any {
	c.out.reset()
	c.dropPointers() // first: a key that two of them share keeps what is written
	for i := range c.groups {
		c.writeGroup(&c.groups[i], goneFor)
	}
	for _, i := range c.channels {
		if r := &c.batch.channels[i]; r.state == pending {
			c.writeChannel(r, goneFor)
		}
	}
	if c.vouches() {
		c.mark()
	}
	c.audience()
	return c.out.list()
}

// writeGroup joins what changes one user's hashes, and adds a command for each pointer that moved.
func (c *chunk) writeGroup(g *group, goneFor string) {
	out, id := &c.out, g.user.id
	each := func(name, prefix string, is func(d *delta) bool, args func(d *delta)) (any bool) {
		for _, n := range g.deltas {
			d := &c.batch.deltas[n]
			if d.state != pending || !is(d) {
				continue
			}
			if !any {
				any = true
				out.command(name)
				out.key(prefix, id)
			}
			args(d)
		}
		return any
	}
	for of := ofInbox; of <= ofThreads; of++ {
		threads := of == ofThreads
		each("hset", of.prefix(), func(d *delta) bool { return d.thread() == threads && d.Member && !d.gone }, func(d *delta) {
			out.field(d)
			out.buf = appendValue(out.buf, &d.UnreadDelta)
			out.end()
		})
		each("hdel", of.prefix(), func(d *delta) bool { return d.thread() == threads && (!d.Member || d.gone) }, out.field)
	}
	each("hdel", prefixInboxGone, func(d *delta) bool { return d.gone || d.Member && d.known.there && !d.known.member }, out.field)
	if each("hset", prefixInboxGone, func(d *delta) bool { return !d.Member && !d.gone }, func(d *delta) {
		out.field(d)
		out.buf = appendStamp(out.buf, &d.Stamp)
		out.buf = append(out.buf, '.')
		out.number(d.LastRead.Seq)
	}) {
		out.command("expire")
		out.key(prefixInboxGone, id)
		out.str(goneFor)
	}
	for _, n := range g.deltas {
		d := &c.batch.deltas[n]
		if d.state == pending {
			c.writePointer(d)
		}
	}
}

// writeChannel adds what one record of a channel changes. The hash has no room for the stamp, which stands beside it.
func (c *chunk) writeChannel(r *channel, goneFor string) {
	out := &c.out
	if r.gone || r.Deleted {
		out.command("del")
		out.key(prefixChannelLatest, r.ChannelID)
		if r.gone {
			out.key(prefixChannelStamp, r.ChannelID)
			return
		}
	} else {
		out.command("hset")
		out.key(prefixChannelLatest, r.ChannelID)
		appendChannel(out, &r.ChannelRecord)
	}
	out.command("set")
	out.key(prefixChannelStamp, r.ChannelID)
	out.buf = appendUint(out.buf, r.Stamp.FoldVersion)
	out.buf = strconv.AppendInt(append(out.buf, '.'), r.Stamp.M, 10)
	out.end()
	if r.Deleted {
		out.str("ex")
		out.str(goneFor)
	}
}

// appendChannel adds the fields of channel-latest and their values, in the order of DESIGN §8.
func appendChannel(out *commands, r *events.ChannelRecord) {
	out.str("latest_id")
	out.text(r.Latest.MessageID)
	out.str("latest_at")
	if r.Latest.Seq > 0 {
		out.buf = appendTime(out.buf, r.Latest.At)
	}
	out.end()
	out.str("latest_sender")
	out.text(r.Latest.SenderID)
	out.str("latest_preview")
	out.text(r.Latest.Preview)
	out.str("message_seq")
	out.number(r.HeadSeq)
	out.str("message_pos")
	out.number(r.HeadPos)
	out.str("holes")
	out.buf = appendPositions(out.buf, r.Holes)
	out.end()
	out.str("holes_floor")
	out.number(r.HolesFloor)
	out.str("alls")
	out.buf = appendPositions(out.buf, r.Alls)
	out.end()
	out.str("alls_floor")
	out.number(r.AllsFloor)
	out.str("purged_pos")
	out.number(r.PurgedPos)
	out.str("member_count")
	out.number(r.MemberCount)
}

// done marks what was pending as applied.
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

// skip gives up what belongs to p.
func (c *chunk) skip(p *part) {
	for i := range c.groups {
		if c.groups[i].user.part != p {
			continue
		}
		for _, n := range c.groups[i].deltas {
			c.batch.deltas[n].state = skipped
		}
	}
	for _, i := range c.channels {
		if r := &c.batch.channels[i]; r.part == p {
			r.state = skipped
		}
	}
}
