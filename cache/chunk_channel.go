package cache

import (
	"strconv"

	"github.com/tidemark/tidemark/cache/internal/entry"
	"github.com/tidemark/tidemark/cache/internal/packed"
)

// writeChannels adds the commands for the pending records of channels. updated reports whether one
// of them has labels or is archived.
func (c *chunk) writeChannels(goneFor string) (updated bool) {
	for _, i := range c.channels {
		r := &c.batch.channels[i]
		if r.state != pending {
			continue
		}
		updated = updated || !r.gone && !r.Deleted && r.updated()
		if !c.format.Packed && !c.format.NoChannels {
			c.writeChannel(r, goneFor)
		}
	}
	if c.format.Packed && !c.format.NoChannels {
		c.packChannels(goneFor)
	}
	return updated
}

// packChannels adds one command for all packed records with their stamps, and one for all removed
// records. A deleted channel leaves its stamp.
func (c *chunk) packChannels(goneFor string) {
	out := &c.out
	each := func(name string, is func(r *channel) bool, args func(r *channel)) {
		first := true
		for _, i := range c.channels {
			r := &c.batch.channels[i]
			if r.state != pending || !is(r) {
				continue
			}
			if first {
				first = false
				out.Command(name)
			}
			args(r)
		}
	}
	gone := func(r *channel) bool { return r.gone || r.Deleted }
	each("mset", func(r *channel) bool { return !gone(r) }, func(r *channel) {
		out.key(prefixChannelLatest, r.ChannelID)
		out.Buf = packed.AppendChannel(out.Buf, &r.ChannelRecord)
		out.End()
	})
	each("del", gone, func(r *channel) {
		out.key(prefixChannelLatest, r.ChannelID)
		if r.gone {
			out.key(prefixChannelStamp, r.ChannelID)
		}
	})
	for _, i := range c.channels {
		if r := &c.batch.channels[i]; r.state == pending && r.Deleted && !r.gone {
			c.writeStamp(r, goneFor)
		}
	}
}

// writeChannel adds the commands for one channel record. The hash of DESIGN §8 has no field for the
// stamp, so the stamp has a key of its own.
func (c *chunk) writeChannel(r *channel, goneFor string) {
	out := &c.out
	if r.gone || r.Deleted {
		out.Command("del")
		out.key(prefixChannelLatest, r.ChannelID)
		if r.gone {
			out.key(prefixChannelStamp, r.ChannelID)
			return
		}
	} else {
		out.Command("hset")
		out.key(prefixChannelLatest, r.ChannelID)
		entry.AppendHash(&out.Commands, &r.ChannelRecord)
	}
	c.writeStamp(r, goneFor)
}

// writeStamp adds the command that writes the stamp of a channel.
func (c *chunk) writeStamp(r *channel, goneFor string) {
	out := &c.out
	out.Command("set")
	out.key(prefixChannelStamp, r.ChannelID)
	out.Buf = entry.AppendUint(out.Buf, r.Stamp.FoldVersion)
	out.Buf = strconv.AppendInt(append(out.Buf, '.'), r.Stamp.M, 10)
	out.End()
	if r.Deleted {
		out.Str("ex")
		out.Str(goneFor)
	}
}
