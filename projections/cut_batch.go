package projections

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/overlay"
	"github.com/tidemark/tidemark/projections/internal/seqset"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Cut is dirty state with the position it stands for, encoded and not yet written.
type Cut struct {
	Position Position
	Bytes    int

	p       *Partition
	batch   *pebble.Batch
	forgets bool
}

// Forgets reports whether a store with this cut cannot publish some keys again (Republish): those
// of a deleted channel, of threads in which an erased user has nothing any more, and of channels
// that only reads name, which are not kept in memory.
func (c *Cut) Forgets() bool { return c.forgets }

// cutting encodes a cut. It runs on the goroutine that folds, and without the partition's lock:
// nobody else writes, so what it reads stands still, and queries are answered meanwhile as if there
// were no cut. Therefore it writes nothing that they read before finish does, under the lock:
// records and digests are its own until then, and what is for the next cut alone (marks of what is
// dirty, hashes of what is stored) nobody else reads.
type cutting struct {
	*Partition
	written overlay.Written // shadows the partition's, over which its records are

	batch  *pebble.Batch
	guests []uint32 // rows whose RowStored has changed
	excs   []uint32 // rows whose exc can do without something

	unknown []uint32 // channels of which chat.messages has said nothing
	idle    []uint32 // rows in threads that say nothing
}

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
