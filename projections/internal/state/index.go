package state

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// The index finds a message by its id. Most producers give ids that grow with time (ULIDs,
// snowflakes, timestamps). A message *grew* if its id is greater than all earlier ones; such ids
// ascend along seqs, so bisection over the log's blocks finds them. A message that is found so is
// *plain* and has no index entry, which saves more than half of a message's cost. Random ids also
// grow now and then by chance, and bisection for each of them would cost more than entries. So a
// message is plain only if the RunPlain messages before it grew as well.

// Lookup returns the message that an event names by id, at log time now of the event's own topic.
// Of several messages with one id it returns the oldest that has not left the index by then (DESIGN
// §4.6).
func (p *State) Lookup(c *Channel, id []byte, hash uint64, now int64) (history.Indexed, bool) {
	return p.lookup(c, id, hash, now, false)
}

// LookupRemembered is Lookup for the oldest message that the event remembers, which may have left
// the index.
func (p *State) LookupRemembered(c *Channel, id []byte, hash uint64, now int64) (history.Indexed, bool) {
	return p.lookup(c, id, hash, now, true)
}

func (p *State) lookup(c *Channel, id []byte, hash uint64, now int64, any bool) (history.Indexed, bool) {
	if c.HeadSeq == 0 {
		return history.Indexed{}, false
	}
	best, ok := p.lookupTail(c, id, hash, now, any)
	if c.HeadSeq-p.SeedOf(c) <= history.BlockLen || (ok && p.oldest(c, &best, now, any)) {
		return best, ok
	}
	if x, found := p.lookupPlain(c, id); found && p.matches(&x, now, any) {
		return x, true // the first message with this id, because the id was greater than all earlier ones
	}
	var kb [keys.Buf + keys.MaxID]byte
	v, found, err := p.Get(keys.AppendIndex(kb[:0], p.Blobs.Get(c.ID), id))
	if err != nil {
		p.Fail(fmt.Errorf("message index of channel %q: %w", p.Blobs.Get(c.ID), err))
	}
	if !found {
		return best, ok
	}
	if x, ok := indexedIn(v, best.Seq, func(x *history.Indexed) bool { return p.matches(x, now, any) }); ok {
		return x, true
	}
	return best, ok
}

// matches reports whether an event can name a message by its id, at log time now of the event's own
// topic; with any, whether the event remembers the message.
func (p *State) matches(x *history.Indexed, now int64, any bool) bool {
	if any {
		return p.Remembers(x.LogTime, now)
	}
	return now-x.Time <= p.Settings.IndexRetention
}

// oldest reports whether x, which matches, is certainly the oldest message with its id that does.
// ChannelReposted may be missing only if chat.messages had forgotten the older message when x was
// posted. An event matches that one only if its own topic lags behind x, for the index by a week.
func (p *State) oldest(c *Channel, x *history.Indexed, now int64, any bool) bool {
	behind := int64(forgetAfter)
	if any {
		behind = 0
	}
	return c.Flags&ChannelReposted == 0 && (x.LogTime-now <= behind || p.Remembers(c.FirstTime, x.LogTime))
}

// IndexedIn returns the oldest message of an index record that has not left the index and is before
// seq before; before 0 means any.
func IndexedIn(record []byte, before uint32, now, retention int64) (history.Indexed, bool) {
	return indexedIn(record, before, func(x *history.Indexed) bool { return now-x.Time <= retention })
}

func indexedIn(record []byte, before uint32, matches func(*history.Indexed) bool) (history.Indexed, bool) {
	for r := (wire.Reader{B: record}); len(r.B) > 0 && r.Err == nil; {
		x := history.ReadIndexed(&r)
		if r.Err == nil && matches(&x) && (before == 0 || x.Seq < before) {
			return x, true
		}
	}
	return history.Indexed{}, false
}

// LookupTail searches only the newest messages, oldest first in case an id was posted again.
func (p *State) LookupTail(c *Channel, id []byte, hash uint64, now int64) (history.Indexed, bool) {
	return p.lookupTail(c, id, hash, now, false)
}

// LookupTailRemembered is to LookupTail what LookupRemembered is to Lookup.
func (p *State) LookupTailRemembered(c *Channel, id []byte, hash uint64, now int64) (history.Indexed, bool) {
	return p.lookupTail(c, id, hash, now, true)
}

func (p *State) lookupTail(c *Channel, id []byte, hash uint64, now int64, any bool) (history.Indexed, bool) {
	tag := TagOf(hash)
	n := min(c.HeadSeq-p.SeedOf(c), history.BlockLen)
	var best history.Indexed
	for s := c.HeadSeq; s > c.HeadSeq-n; s-- {
		if c.TailTag[s%history.BlockLen] != tag {
			continue
		}
		x, at, ok := history.IndexedFrom(s, p.Blobs.Get(c.Tail[s%history.BlockLen]))
		if !ok || !bytes.Equal(at, id) {
			continue
		}
		if p.matches(&x, now, any) {
			best = x
			if p.oldest(c, &x, now, any) {
				break
			}
		}
	}
	return best, best.Seq != 0
}

// lookupPlain searches the messages without index entries.
func (p *State) lookupPlain(c *Channel, id []byte) (history.Indexed, bool) {
	s, ok := p.PlainSearchOf(c, id)
	if !ok {
		return history.Indexed{}, false
	}
	x, ok, err := s.Run(func(b uint32) ([]byte, error) { return p.Block(c, b) })
	if err != nil {
		p.Fail(fmt.Errorf("log of channel %q: looking for a message id: %w", p.Blobs.Get(c.ID), err))
	}
	return x, ok
}

// PlainSearch searches the messages without index entries. It copies what it needs from memory, so
// it can run without the partition's lock over the blocks of any later moment.
type PlainSearch struct {
	id   []byte // borrowed from the caller
	seed uint32
	last uint32 // the newest block that can contain the message
}

// PlainSearchOf begins a search. It returns false if no message without an index entry can have
// this id.
func (p *State) PlainSearchOf(c *Channel, id []byte) (PlainSearch, bool) {
	seed := p.SeedOf(c)
	full := (c.HeadSeq - seed) / history.BlockLen // number of full blocks
	if c.Plain == 0 || full == 0 || bytes.Compare(id, p.Blobs.Get(c.MaxID)) > 0 {
		return PlainSearch{}, false
	}
	return PlainSearch{id, seed, min(history.BlockOf(c.Plain-seed), full-1)}, true
}

// Run finds the newest block, up to last, whose anchor's id is not beyond the id it searches for.
// It first goes back from the last block in growing steps, because most searches are for recent
// ids, then bisects. The message is in that block, or it is the block's anchor. An anchor in a
// trimmed block has no id; if it is beyond the id, the message is in a trimmed block as well.
func (s *PlainSearch) Run(block func(b uint32) ([]byte, error)) (history.Indexed, bool, error) {
	hi := s.last
	lo, beyond := uint32(0), hi+1 // the anchor of block beyond, if that block exists, is beyond the id
	for step := uint32(1); hi > 0; step *= 2 {
		_, at, err := s.anchorOf(block, hi)
		if err != nil {
			return history.Indexed{}, false, err
		}
		if at.Trimmed || bytes.Compare(at.ID, s.id) <= 0 {
			lo = hi
			break
		}
		beyond = hi
		hi -= min(step, hi)
	}
	for lo+1 < beyond {
		mid := lo + (beyond-lo)/2
		_, at, err := s.anchorOf(block, mid)
		if err != nil {
			return history.Indexed{}, false, err
		}
		if at.Trimmed || bytes.Compare(at.ID, s.id) <= 0 {
			lo = mid
		} else {
			beyond = mid
		}
	}
	b, e, err := s.anchorOf(block, lo)
	if err != nil {
		return history.Indexed{}, false, err
	}
	if history.IsTrimmed(b) {
		return history.Indexed{}, false, nil
	}
	if !e.Trimmed && bytes.Equal(e.ID, s.id) {
		return history.IndexedOf(&e), true, nil
	}
	r := wire.Reader{B: b}
	r.Uvarint()
	for n := lo*history.BlockLen + 1; n <= (lo+1)*history.BlockLen; n++ {
		if err := e.Decode(s.seed+n, r.Bytes()); err != nil {
			return history.Indexed{}, false, err
		}
		if e.Flags&history.Grew != 0 && bytes.Equal(e.ID, s.id) {
			return history.IndexedOf(&e), true, nil
		}
	}
	return history.Indexed{}, false, nil
}

// anchorOf returns a block and its anchor: the message with the largest id up to the block's first
// message.
func (s *PlainSearch) anchorOf(block func(b uint32) ([]byte, error), n uint32) (b []byte, e history.Entry, err error) {
	if b, err = block(n); err != nil {
		return nil, e, err
	}
	if history.IsTrimmed(b) {
		return b, history.Entry{Trimmed: true}, nil
	}
	first := n*history.BlockLen + 1 // numbers in the log, not seqs
	r := wire.Reader{B: b}
	back := r.U32()
	if r.Err != nil || back >= first {
		return nil, e, fmt.Errorf("block %d: its anchor is %d before message %d: %w", n, back, s.seed+first, errors.Join(r.Err, errAnchor))
	}
	from := b
	if back > 0 {
		if from, err = block(history.BlockOf(first - back)); err != nil {
			return nil, e, err
		}
	}
	if err := history.BlockEntry(from, first-back, s.seed+first-back, &e); err != nil {
		return nil, e, fmt.Errorf("message %d: %w", s.seed+first-back, err)
	}
	return b, e, nil
}

// RunPlain is how many consecutive messages must have grown before the next can be plain.
const RunPlain = 3

// NoteID updates the channel's data about ids when e is posted, and reports whether e is plain.
func (p *State) NoteID(c *Channel, e *history.Entry, grows bool) (plain bool) {
	if grows {
		e.Flags |= history.Grew
		p.Blobs.Release(c.MaxID)
		c.MaxID, c.MaxSeq = p.Blobs.Put(e.ID), e.Seq
		plain = c.Run == RunPlain
		c.Run = min(c.Run+1, RunPlain)
	} else {
		c.Run = 0
	}
	if (e.Seq-p.SeedOf(c))%history.BlockLen == 1 {
		c.Anchor = c.MaxSeq
	}
	if plain {
		c.Plain = e.Seq
	}
	return plain
}

// IndexMessage adds a message to the index. If an earlier message with this id has left the index,
// the record keeps both, because an event whose own topic lags still names the older one.
func (p *State) IndexMessage(c *Channel, e *history.Entry) {
	key := keys.AppendIndex(p.KeyScratch[:0], p.Blobs.Get(c.ID), e.ID)
	x := history.IndexedOf(e)
	if e.Flags&history.Grew == 0 && p.mayRepost(c, e.LogTime) {
		old, ok, err := p.Get(key)
		if err != nil {
			p.Fail(fmt.Errorf("message index of channel %q: %w", p.Blobs.Get(c.ID), err))
		}
		if ok {
			if _, remembered := indexedIn(old, 0, func(x *history.Indexed) bool { return p.Remembers(x.LogTime, e.LogTime) }); remembered {
				c.Flags |= ChannelReposted
			}
			p.Written.PutOver(key, old, history.AppendIndexed(append([]byte(nil), old...), x))
			return
		}
	}
	var vb [32]byte
	p.Written.PutNew(key, history.AppendIndexed(vb[:0], x))
}

// NoteRepost marks the channel if a plain message that chat.messages remembers has the id that is
// posted again now.
func (p *State) NoteRepost(c *Channel, id []byte, hash uint64) {
	if c.Plain == 0 || !p.mayRepost(c, p.MessageTime) {
		return
	}
	_, known := p.LookupTailRemembered(c, id, hash, p.MessageTime)
	if !known {
		x, ok := p.lookupPlain(c, id)
		known = ok && p.Remembers(x.LogTime, p.MessageTime)
	}
	if known {
		c.Flags |= ChannelReposted
	}
}

// mayRepost reports whether any message of the channel can have left the index. Only then can a
// post that is no duplicate have a known id.
func (p *State) mayRepost(c *Channel, logTime int64) bool {
	return logTime-c.FirstTime > p.Settings.IndexRetention
}

var errAnchor = errors.New("corrupt")
