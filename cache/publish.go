package cache

import (
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Publishing a delta costs Redis more than writing it, and hardly anybody listens to all of them. So the last commands of
// a transaction ask who does, and only what somebody hears is published after it. Who subscribes after that question
// finds the values written when he reads them, so nobody misses one.
//
// A crash between the two leaves values that were written and not published. Their partition's cursor has not moved on
// then: its next owner reads them again, asks Redis what it holds, and publishes those that it holds already (unsaid).

// audience adds the questions about who listens: to patterns, to each user of the chunk, and to pointers that move.
func (c *chunk) audience() {
	c.listened = c.listened[:0]
	moved := false
	for i := range c.groups {
		g := &c.groups[i]
		tells := false
		for _, n := range g.deltas {
			if d := &c.batch.deltas[n]; d.tells() {
				tells = true
				moved = moved || d.tellsPointer()
			}
		}
		if tells {
			c.listened = append(c.listened, int32(i))
		}
	}
	if len(c.listened) == 0 {
		return
	}
	out := &c.out
	out.command("pubsub")
	out.str("numpat")
	out.command("pubsub")
	out.str("numsub")
	for _, i := range c.listened {
		out.key(prefixUnreadChannel, c.groups[i].user.id)
	}
	if moved {
		out.str(changesChannel)
	}
}

// tells reports whether d is to be published: it is news, and written.
func (d *delta) tells() bool {
	return d.loud && !d.gone && (d.state == pending || d.state == unsaid)
}

// tellsPointer reports whether d may move a read pointer of which somebody is told: one of a channel. Of what was written before it is not
// known whether it moved one.
func (d *delta) tellsPointer() bool {
	return !d.thread() && d.tells() && (d.pointerMoved() || d.state == unsaid && d.LastRead.Seq > 0)
}

// hear takes the answers to audience, which are the last of a transaction's, and keeps only the groups somebody listens
// to.
func (c *chunk) hear(answers []*redis.Cmd) error {
	c.pointersHeard = false
	if len(c.listened) == 0 {
		return nil
	}
	patterns, err := answers[len(answers)-2].Int64()
	if err != nil {
		return fmt.Errorf("who listens to patterns: %w", err)
	}
	counts, err := answers[len(answers)-1].Slice()
	if err != nil {
		return fmt.Errorf("who listens: %w", err)
	}
	names := len(counts) / 2
	if names != len(c.listened) && names != len(c.listened)+1 {
		return fmt.Errorf("who listens: answer about %d of %d users", names, len(c.listened))
	}
	heard := func(i int) bool {
		n, _ := counts[2*i+1].(int64)
		return n > 0 || patterns > 0
	}
	c.pointersHeard = names > len(c.listened) && heard(names-1)
	for i, g := range c.listened {
		c.groups[g].heard = heard(i)
	}
	return nil
}

// publishes are the commands that tell of what was written.
func (c *chunk) publishes() [][]any {
	out := &c.out
	out.reset()
	for _, i := range c.listened {
		g := &c.groups[i]
		if !g.heard && !c.pointersHeard {
			continue
		}
		for _, n := range g.deltas {
			d := &c.batch.deltas[n]
			if g.heard && d.tells() {
				out.command("publish")
				out.key(prefixUnreadChannel, g.user.id)
				out.buf = appendUpdate(out.buf, &d.UnreadDelta)
				out.end()
			}
			if c.pointersHeard && d.tellsPointer() {
				out.command("publish")
				out.str(changesChannel)
				out.buf = appendChange(out.buf, &d.UnreadDelta)
				out.end()
			}
		}
	}
	return out.list()
}
