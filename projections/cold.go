package projections

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/loading"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/store"
)

// LoadCold implements state.Backing. No cut that is not applied yet has hot records of a cold
// channel, except that a channel was deleted.
func (p backing) LoadCold(ci uint32, c *state.Channel, id []byte) error {
	var kb [keys.Buf]byte
	key := keys.AppendHot(kb[:0], id, keys.HotChannel)
	val, ok, err := p.rules.Get(key)
	if err != nil || !ok && p.rules.Cold.Of(id) == 0 { // another id has this hash
		return err
	}
	it, err := p.hotRecords(id)
	if err != nil {
		return err
	}
	return p.wrong(loading.Loader{Fold: &p.rules}.Channel(ci, c, val, it))
}

// wrong marks an error of loading a channel as that of a corrupt store, unless it comes from the disk.
func (p *Partition) wrong(err error) error {
	if err == nil || store.IsIO(err) || errors.Is(err, ErrClosing) {
		return err
	}
	return &CorruptError{Dir: p.fuse.Dir(), Err: err}
}

// hotRecords returns an iterator over the stored records under Hot of a channel.
func (p *Partition) hotRecords(id []byte) (*pebble.Iterator, error) {
	var kb [keys.Buf]byte
	prefix := keys.AppendHot(kb[:0], id, 0)
	prefix = prefix[:len(prefix)-1]
	return p.records.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: keys.PrefixEnd(prefix)})
}
