package cache

import "github.com/tidemark/tidemark/cache/internal/pipeline"

// commands are the commands of a pipeline whose arguments are keys and fields of DESIGN §8.
type commands struct{ pipeline.Commands }

// field adds the name of d in its user's hashes.
func (c *commands) field(d *delta) {
	c.Buf = append(c.Buf, d.field()...)
	c.End()
}

// key adds the key of prefix and an id.
func (c *commands) key(prefix string, id []byte) {
	c.Buf = appendID(append(c.Buf, prefix...), id)
	c.End()
}

// keyOf adds the key of prefix, a user and the id of one of the user's channels or threads.
func (c *commands) keyOf(prefix string, user, id []byte) {
	c.Buf = append(appendID(append(c.Buf, prefix...), user), ':')
	c.Buf = appendID(c.Buf, id)
	c.End()
}
