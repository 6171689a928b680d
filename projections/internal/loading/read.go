package loading

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/projections/internal/keys"
)

// Seeker iterates over the records of a store. A *pebble.Iterator implements it.
type Seeker interface {
	Records
	SeekGE(key []byte) bool
}

const (
	readers = 4 // goroutines that read the store
	share   = 8 // channels that are worth a goroutine
)

// Read fills lists with the records of their channels, several channels at the same time. It returns
// the lists in order of their ids, each channel once.
func Read(lists []*List, open func() (Seeker, error)) ([]*List, error) {
	slices.SortFunc(lists, func(a, b *List) int { return bytes.Compare(a.ID, b.ID) })
	lists = slices.CompactFunc(lists, func(a, b *List) bool { return bytes.Equal(a.ID, b.ID) })
	g, _ := guard.WithContext(context.Background())
	for part := range slices.Chunk(lists, max(share, (len(lists)+readers-1)/readers)) {
		g.Go("reading channels", func() (err error) {
			it, err := open()
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, it.Close()) }()
			for _, l := range part {
				if err := l.read(it); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return lists, g.Wait()
}

// read adds all records of the channel.
func (l *List) read(it Seeker) error {
	var kb [keys.Buf]byte
	prefix := keys.AppendHot(kb[:0], l.ID, 0)
	prefix = prefix[:len(prefix)-1]
	for ok := it.SeekGE(prefix); ok && bytes.HasPrefix(it.Key(), prefix); ok = it.Next() {
		l.Add(it.Key(), it.Value())
	}
	return it.Error()
}
