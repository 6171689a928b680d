package projections

import (
	"bytes"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// A cold channel is in the store only: memory keeps nothing but a hash of its id. The first event
// that names the channel loads it again. Queries never load it, because for readers a cold channel
// does not exist. Evicting and loading a channel change no record, no digest and no delta (DESIGN
// §5).

// LoadCold implements state.Backing.
func (p backing) LoadCold(ci uint32, c *state.Channel, id []byte) error {
	var kb [keys.Buf]byte
	key := keys.AppendHot(kb[:0], id, keys.HotChannel)
	val, ok, err := p.rules.Get(key)
	if err != nil || !ok { // another id has this hash
		return err
	}
	customized := p.rules.Customized // those of a cold channel are counted
	defer func() { p.rules.Customized = customized }()
	if err := p.loadInto(ci, c, keys.HotChannel, nil, keys.RecordHash(key, val), val); err != nil {
		return err
	}
	if c.Flags&state.ChannelDeleted != 0 {
		p.rules.Leaving = append(p.rules.Leaving, ci)
		return nil
	}
	// A channel of which chat.messages has said nothing has left after what is stored of it was
	// written.
	prefix := key[:len(key)-1]
	it, err := p.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: keys.PrefixEnd(prefix)})
	if err != nil {
		return err
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		if bytes.Equal(it.Key(), key) {
			continue
		}
		rest := it.Key()[len(prefix):]
		err = p.loadInto(ci, c, rest[0], rest[1:], keys.RecordHash(it.Key(), it.Value()), it.Value())
	}
	if err = errors.Join(err, it.Error(), it.Close()); err != nil {
		return err
	}
	for ref := c.Rows; ref != 0; ref = p.rules.Rows.At(ref).NextRow {
		if r := p.rules.Rows.At(ref); r.Flags&state.RowThread != 0 {
			p.loadedFollow(r)
		} else if r.Extra != 0 {
			p.rules.Await(ref) // what a user hid up to a seq that is not posted yet, and what they filed
		}
	}
	return nil
}
