package loading

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Seeker iterates over the records of a store. A *pebble.Iterator implements it.
type Seeker interface {
	Records
	SeekGE(key []byte) bool
}

// Source is a store.
type Source struct {
	Get  func(dst, key []byte) (val []byte, ok bool, err error) // appends the value of a key to dst
	Iter func() (Seeker, error)
}

const (
	readers = 4  // goroutines that read the store
	share   = 16 // channels that are worth a goroutine
)

// Read fills lists with the records of their channels, several channels at the same time. It returns
// the lists in order of their ids, each channel once.
func Read(lists []*List, from Source) ([]*List, error) {
	slices.SortFunc(lists, func(a, b *List) int { return bytes.Compare(a.ID, b.ID) })
	lists = slices.CompactFunc(lists, func(a, b *List) bool { return bytes.Equal(a.ID, b.ID) })
	if len(lists) <= share {
		return lists, guard.Err("reading channels", func() error { return read(lists, from) })
	}
	g, _ := guard.WithContext(context.Background())
	for part := range slices.Chunk(lists, max(share, (len(lists)+readers-1)/readers)) {
		g.Go("reading channels", func() error { return read(part, from) })
	}
	return lists, g.Wait()
}

func read(lists []*List, from Source) (err error) {
	var it Seeker
	defer func() {
		if it != nil {
			err = errors.Join(err, it.Close())
		}
	}()
	for _, l := range lists {
		if l.pages > 0 || l.unlisted {
			err = l.get(from)
		} else {
			if it == nil {
				opened, err := from.Iter()
				if err != nil {
					return err
				}
				it = opened
			}
			err = l.scan(it)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// get adds all records of a channel of which memory knows the keys, or which is not listed. Unlike an
// iterator, it reads nothing of a level of the store that does not have them.
func (l *List) get(from Source) error {
	var kb [keys.Buf]byte
	err := l.getOne(from, keys.AppendHot(kb[:0], l.ID, keys.HotChannel))
	pages := l.pages
	if l.unlisted && err == nil && l.First() {
		var c state.Channel
		_, _ = headOf(&c, l.Value()) // loading reports a corrupt record
		pages = pagesFor(min(c.Ords, MaxResting))
	}
	for page := range pages {
		if err == nil {
			err = l.getOne(from, keys.AppendPage(kb[:0], l.ID, page))
		}
	}
	return err
}

// getOne adds a record, if there is one.
func (l *List) getOne(from Source, key []byte) error {
	at := len(l.bytes)
	l.bytes = append(l.bytes, key...)
	keyEnd := len(l.bytes)
	val, ok, err := from.Get(l.bytes, key)
	if err != nil || !ok {
		l.bytes = l.bytes[:at]
		return err
	}
	l.bytes, l.ends = val, append(l.ends, keyEnd, len(val))
	return nil
}

// scan adds all records of the channel.
func (l *List) scan(it Seeker) error {
	var kb [keys.Buf]byte
	prefix := keys.AppendHot(kb[:0], l.ID, 0)
	prefix = prefix[:len(prefix)-1]
	for ok := it.SeekGE(prefix); ok && bytes.HasPrefix(it.Key(), prefix); ok = it.Next() {
		l.Add(it.Key(), it.Value())
	}
	return it.Error()
}
