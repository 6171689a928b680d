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
	// SeekPrefixGE moves to the record under key, and returns false if there is none. It reads nothing of
	// a table above the lowest level whose filter does not have the key.
	SeekPrefixGE(key []byte) bool
}

const (
	readers = 4  // goroutines that read the store
	share   = 16 // channels that are worth a goroutine
)

// Read fills lists with the records of their channels, several channels at the same time. Each of its
// goroutines opens an iterator. It returns the lists in order of their ids, each channel once.
func Read(lists []*List, open func() (Seeker, error)) ([]*List, error) {
	slices.SortFunc(lists, func(a, b *List) int { return bytes.Compare(a.ID, b.ID) })
	lists = distinct(lists)
	if len(lists) <= share {
		return lists, guard.Err("reading channels", func() error { return read(lists, open) })
	}
	g, _ := guard.WithContext(context.Background())
	for part := range slices.Chunk(lists, max(share, (len(lists)+readers-1)/readers)) {
		g.Go("reading channels", func() error { return read(part, open) })
	}
	return lists, g.Wait()
}

// distinct returns one list for each channel. It moves the other lists to the end of the array, so that
// Lists can reuse them.
func distinct(lists []*List) []*List {
	n := 0
	for i, l := range lists {
		if n == 0 || !bytes.Equal(l.ID, lists[n-1].ID) {
			lists[n], lists[i] = l, lists[n]
			n++
		}
	}
	return lists[:n]
}

func read(lists []*List, open func() (Seeker, error)) (err error) {
	it, err := open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	// Backwards, because Pebble begins a forward seek with a few steps, which may read a block in vain.
	for _, l := range slices.Backward(lists) {
		if l.pages > 0 || l.unlisted {
			err = l.get(it)
		} else {
			err = l.scan(it)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// get adds all records of a channel of which memory knows the keys, or which is not listed. Unlike scan,
// it uses the filters of tables. Pebble's Get would skip older versions of a record, but opens
// the tables of all levels for each record.
func (l *List) get(it Seeker) error {
	l.key = keys.AppendHot(l.key[:0], l.ID, keys.HotChannel)
	l.getOne(it)
	pages := l.pages
	if l.unlisted && l.First() {
		var c state.Channel
		_, _ = headOf(&c, l.Value()) // loading reports a corrupt record
		pages = pagesFor(min(c.Ords, MaxResting))
	}
	for page := range pages {
		l.key = keys.AppendPage(l.key[:0], l.ID, page)
		l.getOne(it)
	}
	return it.Error()
}

// getOne adds the record under l.key, if there is one.
func (l *List) getOne(it Seeker) {
	if it.Error() == nil && it.SeekPrefixGE(l.key) {
		l.Add(it.Key(), it.Value())
	}
}

// scan adds all records of the channel.
func (l *List) scan(it Seeker) error {
	l.key = keys.AppendHot(l.key[:0], l.ID, 0)
	prefix := l.key[:len(l.key)-1]
	for ok := it.SeekGE(prefix); ok && bytes.HasPrefix(it.Key(), prefix); ok = it.Next() {
		l.Add(it.Key(), it.Value())
	}
	return it.Error()
}
