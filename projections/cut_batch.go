package projections

import (
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/seqset"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// note notes that something of a channel is written.
func (k *cutting) note(ci uint32, c *state.Channel) {
	if c.LastM == 0 {
		k.unknown = append(k.unknown, ci)
	}
}

// get is Partition.get with what the cut has written.
func (k *cutting) get(key []byte) (val []byte, ok bool, err error) {
	if v, deleted, known := k.written.Now.Get(key); known {
		return v, !deleted, nil
	}
	return k.getStored(key)
}

// cutSet writes the records of a set that changed.
func (k *cutting) cutSet(s *seqset.Set, channel []byte, kind byte, user []byte) {
	var kb [keys.Buf]byte
	for _, hi := range s.Dirty {
		k.rules.Scratch = s.Encode(k.rules.Scratch[:0], hi)
		k.replace(keys.AppendSet(kb[:0], channel, kind, user, hi), k.rules.Scratch)
	}
	s.Dirty = s.Dirty[:0]
}

// replace is Partition.replace with what the cut has written.
func (k *cutting) replace(key, val []byte) {
	old, ok, err := k.get(key)
	if err != nil {
		k.rules.Fail(err)
		return
	}
	k.written.Swap(key, old, ok, val)
}
