package overlay

import (
	"github.com/tidemark/tidemark/projections/internal/keys"
)

// Written is records on their way to the store, and the digests with them. Each method keeps the
// digests true. The caller knows whether a key has a record, and which, so that nothing is read
// only to be replaced.
type Written struct {
	Now    *Overlay // written since the last cut
	Digest keys.Digest
	Hot    keys.Digest // of the hot records alone
}

// PutNew stores val under a key that has no record.
func (w *Written) PutNew(key, val []byte) {
	h := keys.RecordHash(key, val)
	w.Digest.Add(h)
	if key[0] == keys.Hot {
		w.Hot.Add(h)
	}
	w.Now.Put(key, val, false)
}

// PutOver stores val in place of old.
func (w *Written) PutOver(key, old, val []byte) {
	w.without(key, old)
	w.PutNew(key, val)
}

// Del removes the record old.
func (w *Written) Del(key, old []byte) {
	w.without(key, old)
	w.Now.Put(key, nil, true)
}

// without takes a record out of the digests.
func (w *Written) without(key, old []byte) {
	h := keys.RecordHash(key, old)
	w.Digest.Sub(h)
	if key[0] == keys.Hot {
		w.Hot.Sub(h)
	}
}

// Swap stores val under key, or nothing if val is empty, where old is stored if ok.
func (w *Written) Swap(key, old []byte, ok bool, val []byte) {
	switch {
	case ok && len(val) == 0:
		w.Del(key, old)
	case ok:
		w.PutOver(key, old, val)
	case len(val) > 0:
		w.PutNew(key, val)
	}
}
