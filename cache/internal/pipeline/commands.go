// Package pipeline builds the commands of a Redis pipeline with few allocations.
package pipeline

import "strconv"

// Commands collects commands for a pipeline. Arguments are cut from one buffer and passed as
// pointers to strings: two allocations a pipeline instead of one an argument. Reuse it with Reset.
type Commands struct {
	Buf    []byte  // the arguments, one after the other: append to it, then call End
	ends   []int32 // of the arguments in Buf
	firsts []int32 // first argument of each command
	strs   []string
	args   []any
	cut    [][]any
}

// Reset forgets all commands and keeps the memory.
func (c *Commands) Reset() { c.Buf, c.ends, c.firsts = c.Buf[:0], c.ends[:0], c.firsts[:0] }

// Command begins a command.
func (c *Commands) Command(name string) {
	c.firsts = append(c.firsts, int32(len(c.ends)))
	c.Str(name)
}

// End ends an argument that was appended to Buf.
func (c *Commands) End() { c.ends = append(c.ends, int32(len(c.Buf))) }

// Str adds an argument.
func (c *Commands) Str(s string) {
	c.Buf = append(c.Buf, s...)
	c.End()
}

// Text adds an argument.
func (c *Commands) Text(s []byte) {
	c.Buf = append(c.Buf, s...)
	c.End()
}

// Number adds a decimal number as an argument.
func (c *Commands) Number(n uint32) {
	c.Buf = strconv.AppendUint(c.Buf, uint64(n), 10)
	c.End()
}

// List returns the commands for go-redis. They are valid until the next call and must not be
// changed.
func (c *Commands) List() [][]any {
	text := string(c.Buf)
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
