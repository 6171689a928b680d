package cache

import (
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/events"
)

// Sizes of what is sent. A script holds up all of Redis while it runs: a call of 100 deltas takes it 0.3 ms.
const (
	callDeltas    = 100 // per script call
	pipelineCalls = 10  // per pipeline
)

// Actions of the scripts.
const (
	actionRemove = 0 // and for lua/channels.lua: deleted
	actionMember = 1
	actionLoud   = 2
	actionForget = 4
)

// calls collects the script calls of one pipeline. Arguments are cut from one buffer, and passed as pointers to
// strings: two allocations a pipeline instead of one an argument.
type calls struct {
	goneFor string
	list    []call
	open    int // values in the call that is being built
	buf     []byte
	ends    []int32 // of the arguments in buf
	strs    []string
	args    []any
	cut     [][]any
}

// call is one script call.
type call struct {
	script     *redis.Script
	keys       []int32 // which arguments are keys
	first, end int     // arguments
}

func (w *writer) calls() *calls {
	c := w.callsPool.Get().(*calls)
	c.goneFor = w.goneFor
	c.list, c.open, c.buf, c.ends = c.list[:0], 0, c.buf[:0], c.ends[:0]
	return c
}

// full reports whether the pipeline is large enough; no call is open then.
func (c *calls) full() bool { return c.open == 0 && len(c.list) >= pipelineCalls }

// in makes sure that the open call is of script.
func (c *calls) in(script *redis.Script) {
	if c.open > 0 {
		return
	}
	c.list = grow(c.list)
	l := &c.list[len(c.list)-1]
	l.script, l.keys, l.first = script, l.keys[:0], len(c.ends)
	c.buf = append(c.buf, c.goneFor...)
	c.arg()
}

// arg ends an argument.
func (c *calls) arg() { c.ends = append(c.ends, int32(len(c.buf))) }

// key ends an argument that is a key.
func (c *calls) key() {
	l := &c.list[len(c.list)-1]
	l.keys = append(l.keys, int32(len(c.ends)))
	c.arg()
}

// endCall ends the open call.
func (c *calls) endCall() {
	if c.open > 0 {
		c.open = 0
		c.list[len(c.list)-1].end = len(c.ends)
	}
}

func (c *calls) number(n int64) {
	c.buf = strconv.AppendInt(c.buf, n, 10)
	c.arg()
}

func (c *calls) text(s []byte) {
	c.buf = append(c.buf, s...)
	c.arg()
}

// addUser adds deltas of u, beginning with number next, as many as the open call has room for. It returns the number of
// the first that is left, -1 for none.
func (c *calls) addUser(b *batch, u *user, next int32) int32 {
	c.in(unreadScript)
	n, left := 0, next
	for left >= 0 && c.open+n < callDeltas {
		n++
		left = b.deltas[left].next
	}
	c.buf = append(append(c.buf, prefixInbox...), u.id...)
	c.key()
	c.number(int64(n))
	for ; next != left; next = b.deltas[next].next {
		d := &b.deltas[next]
		c.text(d.ChannelID)
		if d.gone {
			c.number(actionForget)
			c.arg()
			c.arg()
			continue
		}
		action := int64(actionRemove)
		if d.Member {
			action |= actionMember
		}
		if d.loud {
			action |= actionLoud
		}
		c.number(action)
		c.buf = appendValue(c.buf, &d.UnreadDelta)
		c.arg()
		c.buf = appendPointer(c.buf, &d.UnreadDelta)
		c.arg()
	}
	if c.open += n; c.open >= callDeltas {
		c.endCall()
	}
	return left
}

// addChannel adds a channel's record.
func (c *calls) addChannel(r *channel) {
	c.in(channelsScript)
	c.buf = append(append(c.buf, prefixChannelLatest...), r.ChannelID...)
	c.key()
	switch {
	case r.gone:
		c.number(actionForget)
	case r.Deleted:
		c.number(actionRemove)
	default:
		c.number(actionMember)
	}
	c.buf = appendUint(c.buf, r.Stamp.FoldVersion)
	c.buf = strconv.AppendInt(append(c.buf, '.'), r.Stamp.M, 10)
	c.arg()
	if !r.gone && !r.Deleted {
		c.values(&r.ChannelRecord)
	}
	if c.open++; c.open >= callDeltas {
		c.endCall()
	}
}

// values adds the fields of channel-latest in the order of DESIGN §8.
func (c *calls) values(r *events.ChannelRecord) {
	c.text(r.Latest.MessageID)
	if r.Latest.Seq > 0 {
		c.buf = appendTime(c.buf, r.Latest.At)
	}
	c.arg()
	c.text(r.Latest.SenderID)
	c.text(r.Latest.Preview)
	c.number(int64(r.HeadSeq))
	c.number(int64(r.HeadPos))
	c.buf = appendPositions(c.buf, r.Holes)
	c.arg()
	c.number(int64(r.HolesFloor))
	c.buf = appendPositions(c.buf, r.Alls)
	c.arg()
	c.number(int64(r.AllsFloor))
	c.number(int64(r.PurgedPos))
	c.number(int64(r.MemberCount))
}

// commands are the calls as go-redis takes them: EVALSHA, the script's hash, the number of keys, keys, arguments.
func (c *calls) commands() [][]any {
	text := string(c.buf)
	c.strs = c.strs[:0]
	from := int32(0)
	for _, end := range c.ends {
		c.strs = append(c.strs, text[from:end])
		from = end
	}
	c.args, c.cut = c.args[:0], c.cut[:0]
	for i := range c.list {
		l := &c.list[i]
		begin := len(c.args)
		c.args = append(c.args, "evalsha", l.script.Hash(), len(l.keys))
		for _, k := range l.keys {
			c.args = append(c.args, &c.strs[k])
		}
		keys := l.keys
		for a := l.first; a < l.end; a++ {
			if len(keys) > 0 && int(keys[0]) == a {
				keys = keys[1:]
				continue
			}
			c.args = append(c.args, &c.strs[a])
		}
		c.cut = append(c.cut, c.args[begin:len(c.args):len(c.args)])
	}
	return c.cut
}
