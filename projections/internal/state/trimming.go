package state

import (
	"fmt"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/overlay"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// Trimming is how a cut trims the logs. It writes nothing that readers see before the cut.
type Trimming struct {
	*State
	Into   *overlay.Written                                  // the records of the cut
	Stored func(key []byte) (val []byte, ok bool, err error) // a record with the changes of the cut
	Step   func()                                            // called after each block
}

// Logs trims all blocks of the log that are due at the position (ending.go), and lists their
// channels for the cut. It reads and writes each block once.
func (k *Trimming) Logs() error {
	limit, ok := k.ForgottenBefore()
	if !ok {
		return nil
	}
	for len(k.Due) > 0 && k.Due[0].Key < limit {
		if err := k.endLog(k.Due.Pop(), limit); err != nil {
			return err
		}
	}
	for _, ci := range k.DirtyChannels { // their heads may have moved on
		if err := k.endLog(ci, limit); err != nil {
			return err
		}
	}
	return nil
}

// endLog trims the blocks of a channel that are due. The channel of an entry of State.Due may be
// gone.
func (k *Trimming) endLog(ci uint32, limit int64) error {
	if !k.Channels.Has(ci) || k.Channels.At(ci).ID == 0 {
		return nil
	}
	c, e := k.Channels.At(ci), k.EndingOf(ci)
	was, full := *e, k.FullBlocks(c)
	var block []byte // the first one that is not trimmed; nil: not read yet
	for e.Blocks < full && k.BlockDue(c, e.Blocks, e.Next, limit) {
		var err error
		if block == nil {
			if block, err = k.firstBlock(c, e); err != nil {
				return err
			}
			continue // Next may have been a lower bound
		}
		if err := k.trimBlock(ci, c, e.Blocks, block); err != nil {
			return fmt.Errorf("trimming block %d of the log of channel %q: %w", e.Blocks, k.Blobs.Get(c.ID), err)
		}
		e.Blocks++
		if block, err = k.firstBlock(c, e); err != nil { // there is one: the newest messages stay
			return err
		}
		k.Step()
	}
	if e.Blocks != was.Blocks {
		k.TouchChannel(ci, c)
	}
	if *e != was && e.Next >= limit {
		k.Due.Push(e.Next, ci)
	}
	return nil
}

// firstBlock reads the first block that is not trimmed, and sets Next.
func (k *Trimming) firstBlock(c *Channel, e *Ending) ([]byte, error) {
	var kb [keys.Buf]byte
	block, ok, err := k.Stored(keys.AppendLog(kb[:0], k.Blobs.Get(c.ID), e.Blocks))
	if err == nil && !ok {
		err = fmt.Errorf("it is missing from the store")
	}
	var last history.Entry
	if err == nil {
		n := (e.Blocks + 1) * history.BlockLen
		err = history.BlockEntry(block, n, k.SeedOf(c)+n, &last)
	}
	if err == nil && last.Trimmed {
		err = fmt.Errorf("it is trimmed already")
	}
	if err != nil {
		return nil, fmt.Errorf("log of channel %q, block %d: %w", k.Blobs.Get(c.ID), e.Blocks, err)
	}
	e.Next = last.LogTime
	return block, nil
}

// trimBlock replaces a full block of the log by a trimmed one, and removes its messages from the
// index.
func (k *Trimming) trimBlock(ci uint32, c *Channel, number uint32, block []byte) error {
	var list [history.BlockLen]history.Entry
	first := k.SeedOf(c) + number*history.BlockLen + 1
	r := wire.Reader{B: block}
	r.Uvarint()
	grew := uint32(0) // messages in a row whose ids grew, within the block
	for i := range list {
		e := &list[i]
		if err := e.Decode(first+uint32(i), r.Bytes()); err != nil {
			return err
		}
		if e.Flags&history.Reply != 0 && e.Flags&history.Silent == 0 {
			ti := k.ThreadOf(ci, e.Thread)
			if ti == 0 {
				return fmt.Errorf("message %d is in thread %q, which is unknown", e.Seq, e.Thread)
			}
			e.First = k.Threads.At(ti).First
		}
		if e.Flags&history.Grew == 0 {
			grew = 0
		} else if grew++; grew > RunPlain {
			continue // the message is plain
		}
		if err := k.unindex(c, e); err != nil {
			return err
		}
	}
	if err := r.Done(); err != nil {
		return err
	}
	var kb [keys.Buf]byte
	k.Scratch = history.AppendTrimmed(k.Scratch[:0], &list)
	k.Into.PutOver(keys.AppendLog(kb[:0], k.Blobs.Get(c.ID), number), block, k.Scratch)
	return nil
}

// unindex removes a message from the index. A message near the beginning of a block may be plain;
// then it has no entry.
func (k *Trimming) unindex(c *Channel, e *history.Entry) error {
	var kb [keys.Buf + keys.MaxID]byte
	key := keys.AppendIndex(kb[:0], k.Blobs.Get(c.ID), e.ID)
	old, ok, err := k.Stored(key)
	if err != nil || !ok {
		return err
	}
	rest, err := history.Without(old, e.Seq)
	if err != nil {
		return err
	}
	switch {
	case len(rest) == len(old): // the entry is of a later message with the same id
	case len(rest) == 0:
		k.Into.Del(key, old)
	default:
		k.Into.PutOver(key, old, rest)
	}
	return nil
}

// MentionedBy returns the users whom a trimmed message mentions by id, as Entry.Users does. The log
// no longer has them, so MentionedBy looks at all users of the message's scope.
func (p *State) MentionedBy(ci uint32, c *Channel, e *history.Entry) (users []byte) {
	note := func(r *Row) {
		if x := p.ExtraOfPair(r); x != nil && x.Mentions.Contains(e.Seq) {
			users = wire.AppendBytes(users, p.UserID(r.User))
		}
	}
	if !e.Counted() {
		ti := p.ThreadOfEntry(ci, c, e)
		if ti == 0 {
			return nil
		}
		for fi := p.Threads.At(ti).Follows; fi != 0; fi = p.Follows.At(fi).Next {
			note(p.Rows.At(p.Follows.At(fi).Row))
		}
		return users
	}
	for ref := c.Rows; ref != 0; ref = p.Rows.At(ref).NextRow {
		if r := p.Rows.At(ref); r.Flags&RowThread == 0 {
			note(r)
		}
	}
	return users
}
