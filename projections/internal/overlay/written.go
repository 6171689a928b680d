package overlay

import (
	"github.com/tidemark/tidemark/projections/internal/keys"
)

// Written holds records on their way to the store, and the digests that include them. Each method
// keeps the digests correct. The caller passes the previous record, if there is one, so that no
// record is read only to be replaced.
type Written struct {
	Now    *Overlay // written since the last cut
	Digest keys.Digest
	Hot    keys.Digest // digest of the hot records only
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

// without removes a record from the digests.
func (w *Written) without(key, old []byte) {
	h := keys.RecordHash(key, old)
	w.Digest.Sub(h)
	if key[0] == keys.Hot {
		w.Hot.Sub(h)
	}
}

// Swap stores val under key, or removes the record if val is empty. old is the previous record; ok
// reports whether there is one.
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
