package views

import (
	"bytes"
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/receipts"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// hold captures the store as it is now, for End. The caller holds RLock.
func (w *ReceiptsWalk) hold(c *state.Channel) {
	if !slices.ContainsFunc(w.listed, func(x recipient) bool { return x.own != 0 }) {
		w.m, w.err = w.p.moment(c)
		return
	}
	w.m, w.log, w.err = w.p.logOf(c, w.v.Seq)
}

// End reads the blocks of receipts that the answer needs, from the message's on, and completes it.
// Call it once, without the partition's lock. The fold goes on meanwhile, and the answer does not
// include what it folds. End fails with ErrClosing if the store is to be closed, with the cause of
// ctx, or because of the store's contents; then there is no answer.
func (w *ReceiptsWalk) End(ctx context.Context) (ReceiptsView, error) {
	if w.err != nil {
		return ReceiptsView{}, w.err
	}
	all, from := string(w.memory.users), 0
	for i := range w.listed {
		x := &w.listed[i]
		x.id, from = all[from:x.ends], x.ends
	}
	if w.m != nil {
		err := w.m.read(ctx, func() error {
			if err := w.walk(ctx); err != nil {
				return fmt.Errorf("receipts of message %q in channel %q: %w", w.v.MessageID, w.v.ChannelID, err)
			}
			return nil
		})
		if err != nil {
			return ReceiptsView{}, err
		}
	}
	v := &w.v
	for i := range w.unsure {
		v.Read += uint32(bits.OnesCount64(w.read[i]))
		v.Delivered += uint32(bits.OnesCount64(w.read[i] | w.got[i]))
		v.Viewed += uint32(bits.OnesCount64(w.viewed[i]))
	}
	for i := range w.listed {
		x := w.listed[i].receipt()
		if x.Read {
			v.Read++
		}
		if x.Delivered {
			v.Delivered++
		}
		if x.Viewed {
			v.Viewed++
		}
		v.List = append(v.List, x)
	}
	return w.v, nil
}

func (w *ReceiptsWalk) walk(ctx context.Context) error {
	var list []receipts.Entry
	err := w.m.eachReceipt(ctx, w.blocks(), func(k blockKey, val []byte) (err error) {
		thread := uint32(0)
		if len(k.thread) > 0 {
			thread = w.thread
		}
		if list, err = receipts.DecodeBlock(list[:0], val, k.block, k.page, thread); err != nil {
			return err
		}
		for i := range list {
			w.take(&list[i])
		}
		return nil
	})
	if err != nil || w.log == nil {
		return err
	}
	return w.ownPosts(ctx)
}

// blocks returns the blocks that may decide something about the message. For listed recipients, and
// for all if deliveries are stored, these are all blocks from the message's on. For others it is
// only the message's own block, for single reads; a read further on would be in the row as well.
func (w *ReceiptsWalk) blocks() *blockKeys {
	k := &blockKeys{first: (w.v.Seq - 1) / receipts.BlockLen, last: (w.head - 1) / receipts.BlockLen, thread: w.threadID}
	pagesOf := func(set []uint64) (pages []uint32) {
		for page, mask := range set {
			if mask != 0 {
				pages = append(pages, uint32(page))
			}
		}
		return pages
	}
	unsure := pagesOf(w.unsure)
	for i := range w.listed {
		k.pages = append(k.pages, w.listed[i].ord/keys.PageLen)
	}
	k.pages = slices.Compact(k.pages)
	k.atFirst = slices.Compact(slices.Sorted(slices.Values(append(unsure, k.pages...))))
	if w.small {
		k.pages = k.atFirst
	}
	k.atFirst = slices.Compact(slices.Sorted(slices.Values(append(pagesOf(w.sure), k.atFirst...))))
	if len(k.pages) == 0 {
		k.last = k.first
	}
	return k
}

// ownSteps is how far ownPosts follows a user's own posts back from the newest, before it reads all
// messages from the other end. Nearly always one of the two is short; the second finds users who
// post a lot early.
const ownSteps = 8

// ownPosts finds when the recipients first posted after the message in its scope, because such a
// post reads the message.
func (w *ReceiptsWalk) ownPosts(ctx context.Context) error {
	far := map[string]*recipient{}
	for i := range w.listed {
		x := &w.listed[i]
		if x.own == 0 {
			continue
		}
		first, found, err := w.followBack(ctx, x)
		if err != nil {
			return err
		}
		if found {
			x.read.note(max(first, w.at))
		} else {
			far[x.id] = x
		}
	}
	for seq := w.v.Seq + 1; len(far) > 0 && seq <= w.head; seq++ {
		e, err := w.log.entry(ctx, seq)
		if err != nil {
			return err
		}
		if x := far[string(e.Sender)]; x != nil && w.inScope(&e) && e.Reads(w.p.rules.Settings.SendMarksRead) {
			x.read.note(max(e.Time, w.at))
			delete(far, x.id)
		}
	}
	return nil
}

// followBack returns the time of a recipient's first own post after the message, if it is one of
// their newest.
func (w *ReceiptsWalk) followBack(ctx context.Context, x *recipient) (first int64, found bool, err error) {
	seq := x.own
	for range ownSteps {
		e, err := w.log.entry(ctx, seq)
		if err != nil {
			return 0, false, err
		}
		if e.Reads(w.p.rules.Settings.SendMarksRead) {
			first = e.Time
		}
		if seq = state.ReadBefore(&e, w.inThread); seq <= w.v.Seq {
			return first, true, nil
		}
	}
	return 0, false, nil
}

// inScope reports whether an entry counts as an own post in the scope of the answer's message.
func (w *ReceiptsWalk) inScope(e *history.Entry) bool {
	if !w.inThread {
		return e.Counted()
	}
	return e.Flags&history.Reply != 0 && e.Flags&history.Silent == 0 && bytes.Equal(e.Thread, w.threadID)
}
