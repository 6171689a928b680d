package cache

import "strconv"

// commands collects commands for a pipeline. Arguments are cut from one buffer and passed as pointers to strings: two
// allocations a pipeline instead of one an argument. Reuse it with reset.
type commands struct {
	buf    []byte
	ends   []int32 // of the arguments in buf
	firsts []int32 // first argument of each command
	strs   []string
	args   []any
	cut    [][]any
}

func (c *commands) reset() { c.buf, c.ends, c.firsts = c.buf[:0], c.ends[:0], c.firsts[:0] }

// command begins one.
func (c *commands) command(name string) {
	c.firsts = append(c.firsts, int32(len(c.ends)))
	c.str(name)
}

// end ends an argument that was appended to buf.
func (c *commands) end() { c.ends = append(c.ends, int32(len(c.buf))) }

func (c *commands) str(s string) {
	c.buf = append(c.buf, s...)
	c.end()
}

func (c *commands) text(s []byte) {
	c.buf = append(c.buf, s...)
	c.end()
}

// field is the name of d in its user's hashes (DESIGN §8).
func (c *commands) field(d *delta) {
	c.buf = append(c.buf, d.ChannelID...)
	if d.thread() {
		c.buf = append(append(c.buf, 0), d.ThreadID...)
	}
	c.end()
}

// key is an argument of a prefix and an id.
func (c *commands) key(prefix string, id []byte) {
	c.buf = append(append(c.buf, prefix...), id...)
	c.end()
}

func (c *commands) number(n uint32) {
	c.buf = strconv.AppendUint(c.buf, uint64(n), 10)
	c.end()
}

// list is the commands as go-redis takes them. It is good until the next call and must not be changed.
func (c *commands) list() [][]any {
	text := string(c.buf)
	c.strs, c.args, c.cut = c.strs[:0], c.args[:0], c.cut[:0]
	from := int32(0)
	for _, end := range c.ends {
		c.strs = append(c.strs, text[from:end])
		from = end
	}
	for i := range c.strs {
		c.args = append(c.args, &c.strs[i])
	}
	for i, first := range c.firsts {
		last := len(c.args)
		if i+1 < len(c.firsts) {
			last = int(c.firsts[i+1])
		}
		c.cut = append(c.cut, c.args[first:last:last])
	}
	return c.cut
}
