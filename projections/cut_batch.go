package projections

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/overlay"
	"github.com/tidemark/tidemark/projections/internal/seqset"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/store"
)

// Cut is the encoded dirty state with its position. Apply writes it.
type Cut struct {
	Position Position
	Bytes    int

	p       *Partition
	batch   *pebble.Batch
	forgets bool
}

// Forgets reports whether a store with this cut can no longer republish some keys (Republish).
// Those are the keys of a deleted channel, of threads in which an erased user has no record left,
// and of channels that only reads name, which memory does not keep.
func (c *Cut) Forgets() bool { return c.forgets }

// cutting encodes a cut. It runs on the goroutine that folds, without the partition's lock. That
// goroutine is the only writer, so the state that cutting reads does not change, and queries are
// answered meanwhile as if there were no cut. Until finish runs under the lock, cutting therefore
// writes nothing that queries read: it keeps records and digests to itself, and no query reads what
// it does change (dirty marks, hashes of stored records).
type cutting struct {
	*Partition
	written overlay.Written // shadows Partition's: an overlay on top of the partition's records

	batch     *pebble.Batch
	ascending *store.Ascending // nil, or reads the records that the batch does not have
	guests    []uint32         // rows whose RowStored changes
	excs      []uint32         // rows whose extra can be trimmed

	unknown []uint32 // channels that no record of chat.messages has named
	idle    []uint32 // rows in threads without any content

	user [keys.Buf]byte // the user's part of the key in KeyScratch
}

// note records that the cut writes something of a channel.
func (k *cutting) note(ci uint32, c *state.Channel) {
	if c.LastM == 0 {
		k.unknown = append(k.unknown, ci)
	}
}

// get returns a record as it is with the changes of this cut. The bytes are valid until the next call.
func (k *cutting) get(key []byte) (val []byte, ok bool, err error) {
	if v, deleted, known := k.written.Now.Get(key); known {
		return v, !deleted, nil
	}
	if k.ascending == nil {
		return k.getStored(key)
	}
	k.reads()
	return k.ascending.Get(key)
}

// cutSet writes the records of a set that changed.
func (k *cutting) cutSet(s *seqset.Set, channel []byte, kind byte, user []byte) {
	for _, hi := range s.Dirty {
		k.rules.Scratch = s.Encode(k.rules.Scratch[:0], hi)
		k.replace(keys.AppendSet(k.rules.KeyScratch[:0], channel, kind, user, hi), k.rules.Scratch)
	}
	s.Dirty = s.Dirty[:0]
}

// replace writes a record into this cut, or removes it if val is empty.
func (k *cutting) replace(key, val []byte) {
	old, ok, err := k.get(key)
	if err != nil {
		k.rules.Fail(err)
		return
	}
	k.written.Swap(key, old, ok, val)
}
