package loading

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/rules"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Loader loads records into a fold.
type Loader struct{ *rules.Fold }

// Records are stored records in key order. A *pebble.Iterator implements it.
type Records interface {
	First() bool
	Next() bool
	Valid() bool
	Key() []byte
	Value() []byte
	Error() error
	Close() error
}

// All reads all records under keys.Hot, which are ordered by channel, and closes the iterator. It adds
// them to the digest of what a store reads when it is opened. It loads channels, and calls loaded once
// each is complete; loaded may take the channel out of memory again. While crowded returns true, a
// channel stays in the store if that is possible (see skimmer), and so do all that follow: crowded does
// not become false again. With later, All leaves it to a Lister to note those channels as cold, and
// returns what it has left.
func (l Loader) All(it Records, later bool, crowded func() bool, loaded func(ci uint32)) (left Left, err error) {
	defer func() { err = errors.Join(err, it.Close()) }()
	s := &skimmer{Loader: l}
	for ok := it.First(); ok; ok = it.Valid() {
		if err := s.list.next(it); err != nil {
			return Left{}, err
		}
		switch {
		case !crowded():
			err = l.load(&s.list, loaded)
		case later && s.read(true):
			s.hash()
			if left.Channels == 0 {
				left.First = bytes.Clone(s.list.ID)
			}
			left.Channels++
			left.Pairs += int(s.ords)
		case !later && s.read(false):
			s.hash()
			s.touch()
			s.note()
		default:
			err = l.load(&s.list, loaded)
		}
		if err != nil {
			return Left{}, err
		}
	}
	return left, it.Error()
}

// Left is what All has left to a Lister.
type Left struct {
	First           []byte // the first of the channels
	Channels, Pairs int
}

// load loads a channel whose records are all in a list.
func (l Loader) load(x *List, loaded func(ci uint32)) (err error) {
	ci := uint32(0)
	for x.First(); x.Valid(); x.Next() {
		if ci, err = l.record(ci, x.ID, x.Key()[len(x.ID)+2:], x.Key(), x.Value()); err != nil {
			return fmt.Errorf("record %q: %w", x.Key(), err)
		}
	}
	if ci == 0 {
		return nil
	}
	if err := l.complete(ci, l.Channels.At(ci)); err != nil {
		return err
	}
	loaded(ci)
	return nil
}

// record loads a record of the channel with an id, and returns the channel's index: 0 for a deleted
// channel, which stays in the store. rest is the part of the key after the id.
func (l Loader) record(ci uint32, id, rest, key, val []byte) (uint32, error) {
	hash := keys.RecordHash(key, val)
	l.Written.Hot.Add(hash)
	if rest[0] == keys.HotChannel && len(val) > 0 && val[0]&state.ChannelDeleted != 0 {
		l.Cold.Unknown(id)
		return 0, l.decodeChannel(0, &state.Channel{}, val)
	}
	if ci == 0 {
		if ci = l.ChannelOf(id); ci == 0 {
			ci, _ = l.NewChannel(id)
		}
	}
	return ci, l.into(ci, l.Channels.At(ci), rest[0], rest[1:], hash, val)
}

// Channel loads one channel, which is empty so far, and closes the iterator. own is the channel's own
// record if it may be newer than the iterator, or nil; the iterator has all records under Hot of
// the channel.
func (l Loader) Channel(ci uint32, c *state.Channel, own []byte, it Records) (err error) {
	defer func() { err = errors.Join(err, it.Close()) }()
	// The counts of the partition include channels that are not in memory.
	customized, seeded := l.Customized, l.SeededChannels
	defer func() { l.Customized, l.SeededChannels = customized, seeded }()
	id := l.Blobs.Get(c.ID)
	var kb [keys.Buf]byte
	key := keys.AppendHot(kb[:0], id, keys.HotChannel)
	if own != nil {
		if err := l.into(ci, c, keys.HotChannel, nil, keys.RecordHash(key, own), own); err != nil {
			return fmt.Errorf("record %q: %w", string(key), err) // a copy, so that kb stays on the stack
		}
	}
	if c.Flags&state.ChannelDeleted != 0 {
		l.Leaving = append(l.Leaving, ci)
		return nil
	}
	for it.First(); it.Valid(); it.Next() {
		rest := it.Key()[len(key)-1:]
		if own != nil && rest[0] == keys.HotChannel {
			continue
		}
		if err := l.into(ci, c, rest[0], rest[1:], keys.RecordHash(it.Key(), it.Value()), it.Value()); err != nil {
			return fmt.Errorf("record %q: %w", it.Key(), err)
		}
	}
	if err := it.Error(); err != nil {
		return err
	}
	return l.complete(ci, c)
}

// List loads a channel that is not in memory. It returns 0 if the channel is not listed and readers do
// not know it.
func (l Loader) List(x *List) (ci uint32, c *state.Channel, err error) {
	if absent, err := x.absent(l.Get); absent || err != nil {
		return 0, nil, err
	}
	ci, c = l.NewChannel(x.ID)
	if err := l.Channel(ci, c, nil, x); err != nil {
		return 0, nil, fmt.Errorf("loading channel %q: %w", x.ID, err)
	}
	return ci, c, nil
}

// complete checks a channel whose records are all loaded, and derives what is not stored: the
// message tail, the roots of threads, the waiters, and what was published last.
func (l Loader) complete(ci uint32, c *state.Channel) error {
	err := l.olderTail(c)
	if err == nil {
		err = l.check(c)
	}
	if err = errors.Join(err, l.Err()); err != nil {
		return err // the code below relies on these checks
	}
	if x := l.ExtraOf(c); x != nil {
		for ti := x.Threads; ti != 0; ti = l.Threads.At(ti).Next {
			if t := l.Threads.At(ti); t.First == 0 {
				l.FindRoot(c, t)
			}
		}
	}
	for ref, r := range l.RowsOf(c) {
		if r.Flags&state.RowThread != 0 {
			l.follow(r)
		}
		x := l.ExtraOfPair(r)
		if x == nil {
			continue
		}
		// An older build, which did not recognize expired ids, may have held an event that names
		// one.
		l.SettleOpen(ref)
		l.Settle(ref)
		l.Await(ref)
		l.ListQueued(c, ref, r)
		// A pair with an open time target may not have been published at its pointer. Everything
		// else that is visible has been.
		if len(x.Unsettled)+len(x.Floors) > 0 && !x.OpenInTime() {
			x.LastSeen = l.Signature(c, r)
		}
	}
	return l.Err()
}
