// Package trimming ends the logs of channels (DESIGN §5): a cut replaces each full block whose messages
// no event can name any more by a trimmed one.
package trimming

import (
	"fmt"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/overlay"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// Trimming is how a cut trims the logs. It writes nothing that readers see before the cut.
type Trimming struct {
	*state.State
	Into   *overlay.Written                                  // the records of the cut
	Stored func(key []byte) (val []byte, ok bool, err error) // a record with the changes of the cut
	Step   func()                                            // called after each block
}

// Logs trims all blocks of the logs that are due at the position, and lists their channels for the cut.
// It reads and writes each block once. Each channel with a block that only the log times of the topics
// keep must be in memory.
func (k *Trimming) Logs() error {
	if !k.Settings.TrimLog {
		return nil
	}
	limit, ok := k.ForgottenBefore()
	if !ok {
		limit = state.MinTime // nothing is due
	}
	for len(k.Due) > 0 && k.Due[0].Key < limit {
		next := k.Due[0].Key
		ci := k.Due.Pop()
		e := k.EndingOf(ci)
		if !e.Listed || e.Next != next { // a channel that was deleted
			continue
		}
		e.Listed = false
		if err := k.endLog(ci, limit); err != nil {
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
	was := e.Blocks
	var block []byte // the first one that is not trimmed; nil: not read yet
	for k.LogWaits(c, *e) && (e.Bound || e.Next < limit) {
		var err error
		if block == nil {
			if block, err = k.firstBlock(c, e); err != nil {
				return err
			}
			continue // Next may have been a bound
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
	if e.Blocks != was {
		k.TouchChannel(ci, c)
	}
	k.ListWaiting(ci, c)
	return nil
}

// firstBlock reads the first block that is not trimmed, and sets Next.
func (k *Trimming) firstBlock(c *state.Channel, e *state.Ending) ([]byte, error) {
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
	e.Next, e.Bound = last.LogTime, false
	return block, nil
}

// trimBlock replaces a full block of the log by a trimmed one, and removes its messages from the
// index.
func (k *Trimming) trimBlock(ci uint32, c *state.Channel, number uint32, block []byte) error {
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
		} else if grew++; grew > state.RunPlain {
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
func (k *Trimming) unindex(c *state.Channel, e *history.Entry) error {
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
