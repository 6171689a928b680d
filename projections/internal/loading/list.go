package loading

import (
	"bytes"
	"fmt"

	"github.com/tidemark/tidemark/projections/internal/cold"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// List has the records under Hot of one channel, in key order, in memory. It implements Records.
type List struct {
	ID []byte // of the channel

	unlisted bool   // memory does not know whether there is such a channel; if readers know it, it is plain
	pages    uint32 // if not 0, its records are that of the channel and this many pages of members
	bytes    []byte // keys and values, one after the other
	ends     []int  // of each key and of each value
	at       int
	key      []byte // the key that get and scan look for; its memory is reused
}

// NewList returns an empty list for a cold channel, and keeps the id. c is nil for a channel that is
// not listed, which may not exist.
func NewList(id []byte, c *cold.Channel) *List {
	l := &List{ID: id}
	l.setCold(c)
	return l
}

func (l *List) setCold(c *cold.Channel) {
	l.pages, l.unlisted = 0, c == nil
	if c != nil {
		l.pages = pagesOf(c)
	}
}

// pagesOf returns how many pages of members a channel has, or 0 if it has other records as well.
func pagesOf(c *cold.Channel) uint32 {
	if !c.Plain {
		return 0
	}
	return pagesFor(c.Pairs)
}

// pagesFor returns how many pages a number of members has.
func pagesFor(members uint32) uint32 { return (members + keys.PageLen - 1) / keys.PageLen }

// Lists hands out the same lists again and again.
type Lists struct {
	lists  []*List
	missed missed
}

// Of returns an empty list for each of the channels that is cold, more than one if its id repeats.
// They are valid until the next call, and the caller may reorder them.
func (s *Lists) Of(p *state.State, channels [][]byte) []*List {
	const most = 16 << 10 // bytes that an unused list keeps
	used := 0
	s.missed.each(p, channels, func(id []byte) {
		c := p.Cold.Find(id)
		if c == nil && !p.Cold.MayBeUnlisted(id) {
			return
		}
		if used == len(s.lists) {
			s.lists = append(s.lists, nil)
		}
		l := s.lists[used]
		if l == nil || cap(l.bytes) > most {
			l = &List{}
			s.lists[used] = l
		}
		used++
		l.begin(id)
		l.setCold(c)
	})
	return s.lists[:used]
}

// begin empties the list for another channel.
func (l *List) begin(id []byte) {
	l.ID, l.bytes, l.ends, l.at = append(l.ID[:0], id...), l.bytes[:0], l.ends[:0], 0
}

// next fills the list with the records of the channel that an iterator is at, and moves the iterator
// behind them.
func (l *List) next(it Records) error {
	id, _, err := splitHot(it.Key())
	if err != nil {
		return err
	}
	l.begin(id)
	for same := true; same; {
		l.Add(it.Key(), it.Value())
		if same = it.Next(); same {
			if id, _, err = splitHot(it.Key()); err != nil {
				return err
			}
			same = bytes.Equal(id, l.ID)
		}
	}
	return it.Error()
}

// absent reports whether readers do not know the channel, which may be so for one that is not listed.
// get returns a record as it is now.
func (l *List) absent(get func(key []byte) (val []byte, ok bool, err error)) (bool, error) {
	if !l.unlisted || l.Len() == 0 {
		return l.unlisted, nil
	}
	var kb [keys.Buf]byte
	own, ok, err := get(keys.AppendHot(kb[:0], l.ID, keys.HotChannel))
	if err != nil || !ok {
		return true, err
	}
	var c state.Channel
	flags, err := headOf(&c, own)
	return flags&state.ChannelDeleted != 0 || c.LastM == 0, err
}

// Add adds a copy of a record.
func (l *List) Add(key, val []byte) {
	l.bytes = append(append(l.bytes, key...), val...)
	l.ends = append(l.ends, len(l.bytes)-len(val), len(l.bytes))
}

// Len returns the number of records.
func (l *List) Len() int { return len(l.ends) / 2 }

func (l *List) part(i int) []byte {
	from := 0
	if i > 0 {
		from = l.ends[i-1]
	}
	return l.bytes[from:l.ends[i]:l.ends[i]]
}

// First implements Records.
func (l *List) First() bool {
	l.at = 0
	return l.Valid()
}

// Next implements Records.
func (l *List) Next() bool {
	l.at++
	return l.Valid()
}

// Valid implements Records.
func (l *List) Valid() bool { return l.at < l.Len() }

// Key implements Records.
func (l *List) Key() []byte { return l.part(2 * l.at) }

// Value implements Records.
func (l *List) Value() []byte { return l.part(2*l.at + 1) }

// Error implements Records.
func (l *List) Error() error { return nil }

// Close implements Records.
func (l *List) Close() error { return nil }

// splitHot returns the channel that a key under keys.Hot names, and the rest of the key.
func splitHot(key []byte) (id, rest []byte, err error) {
	n := bytes.IndexByte(key[1:], 0)
	if n <= 0 || n+2 >= len(key) {
		return nil, nil, fmt.Errorf("record %q: malformed key", key)
	}
	return key[1 : n+1], key[n+2:], nil
}

// headOf reads the beginning of a channel's own record, and returns its flags.
func headOf(c *state.Channel, own []byte) (flags byte, err error) {
	r := wire.Reader{B: own}
	flags = readHead(c, &r)
	return flags, r.Err
}
