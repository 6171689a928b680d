package cache

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache/internal/entry"
	"github.com/tidemark/tidemark/events"
)

// Publishing a delta costs Redis more than writing it, and few deltas have a listener. So the last
// commands of a transaction query for listeners, and only deltas with a listener are published
// after it. A client that subscribes after that query reads the values that are already written, so
// it misses none.
//
// A crash between writing and publishing leaves values that were never published. The cursor of
// their partition has not moved then: the next owner reads the records again, reads the values in
// Redis, and publishes those that are already there (unpublished).

// audience adds the queries for listeners: to patterns, to each user of the chunk, and to read
// pointers.
func (c *chunk) audience() {
	c.listened = c.listened[:0]
	moved := false
	for i := range c.groups {
		g := &c.groups[i]
		publishable := false
		for _, n := range g.deltas {
			if d := &c.batch.deltas[n]; d.publishable() {
				publishable = true
				moved = moved || d.publishesPointer()
			}
		}
		if publishable {
			c.listened = append(c.listened, int32(i))
		}
	}
	if len(c.listened) == 0 {
		return
	}
	out := &c.out
	out.Command("pubsub")
	out.Str("numpat")
	out.Command("pubsub")
	out.Str("numsub")
	for _, i := range c.listened {
		out.key(prefixUnreadChannel, c.groups[i].user.id)
	}
	if moved {
		out.Str(changesChannel)
	}
}

// publishable reports whether to publish d: it was written, and is new.
func (d *delta) publishable() bool {
	return d.toPublish && !d.gone && (d.state == pending || d.state == unpublished)
}

// publishesPointer reports whether d may have moved a channel's read pointer; moves of threads'
// pointers are not published. For a value that was already in Redis it is unknown whether it moved
// the pointer.
func (d *delta) publishesPointer() bool {
	return !d.thread() && d.publishable() && (d.pointerMoved() || d.state == unpublished && d.now.seq > 0)
}

// takeAudience evaluates the answers to audience, the last ones of a transaction, and keeps only
// the groups with listeners.
func (c *chunk) takeAudience(answers []*redis.Cmd) error {
	c.pointersHeard = false
	if len(c.listened) == 0 {
		return nil
	}
	patterns, err := answers[len(answers)-2].Int64()
	if err != nil {
		return fmt.Errorf("subscribers of patterns: %w", err)
	}
	counts, err := answers[len(answers)-1].Slice()
	if err != nil {
		return fmt.Errorf("subscribers of channels: %w", err)
	}
	names := len(counts) / 2
	if names != len(c.listened) && names != len(c.listened)+1 {
		return fmt.Errorf("subscribers of channels: the answer has %d of %d users", names, len(c.listened))
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

// publishes returns the commands that publish the written values.
func (c *chunk) publishes() [][]any {
	out := &c.out
	out.Reset()
	for _, i := range c.listened {
		g := &c.groups[i]
		if !g.heard && !c.pointersHeard {
			continue
		}
		for _, n := range g.deltas {
			d := &c.batch.deltas[n]
			if !d.publishable() || !g.heard && !d.publishesPointer() {
				continue
			}
			told := c.told(d)
			if g.heard {
				out.Command("publish")
				out.key(prefixUnreadChannel, g.user.id)
				out.Buf = entry.AppendUpdate(out.Buf, told)
				out.End()
			}
			if c.pointersHeard && d.publishesPointer() {
				out.Command("publish")
				out.Str(changesChannel)
				out.Buf = entry.AppendChange(out.Buf, told)
				out.End()
			}
		}
	}
	return out.List()
}

// told decodes all of a delta. It is valid until the next call.
func (c *chunk) told(d *delta) *events.UnreadDelta {
	x := &c.whole
	var mover []byte
	if d.mover != nil && d.mover != d.record {
		redecode(d.mover.Value, x)
		mover = x.InstanceID
	}
	redecode(d.record.Value, x)
	if mover != nil {
		x.InstanceID = mover
	}
	return x
}

// redecode decodes a value that was decoded before.
func redecode(value []byte, x *events.UnreadDelta) {
	if err := events.DecodeUnreadDelta(value, x); err != nil {
		panic(fmt.Sprintf("a value can be decoded once and not twice: %v", err))
	}
}
