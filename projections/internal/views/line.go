package views

import (
	"bytes"
	"context"
	"fmt"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/overlay"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// wantedSeq is a line's id whose seq is still unknown. The search in memory runs under the lock; if
// that does not decide, End searches the store at the moment of the views.
type wantedSeq struct {
	ref *Ref

	// The results of memory, 0 = none: found is the message in the tail that is in the index, kept
	// the newest message in the tail with this id at any age.
	found, kept uint32

	channel  []byte
	id       []byte
	plain    bool // whether search can find it
	search   state.PlainSearch
	recent   map[uint32][]byte // blocks that were written since the last cut
	record   []byte            // the index record, if it was written since the last cut
	recorded bool
}

// wantSeq searches memory for the message with an id, and lists the id for End if memory does not
// decide.
func (v *Views) wantSeq(c *state.Channel, id []byte, ref *Ref) {
	p := v.p
	w := wantedSeq{ref: ref, id: id}
	if c.HeadSeq == 0 {
		return
	}
	x, ok := p.rules.LookupTail(c, id, state.IDHash(id), v.logTime)
	w.found = x.Seq
	for s := c.HeadSeq; c.InTail(s) && w.kept == 0; s-- {
		if e := p.rules.EntryAt(c, s); bytes.Equal(e.ID, id) {
			w.kept = s
		}
	}
	seed := p.rules.SeedOf(c)
	if c.HeadSeq-seed <= history.BlockLen || ok && c.Flags&state.ChannelReposted == 0 {
		w.settle()
		return
	}
	if v.m == nil && v.err == nil {
		v.m, v.err = p.momentOf(nil)
	}
	w.channel = bytes.Clone(p.rules.Blobs.Get(c.ID))
	if w.search, w.plain = p.rules.PlainSearchOf(c, id); w.plain {
		w.recent = recentBlocks(p.rules.Written.Now, w.channel, (c.HeadSeq-seed)/history.BlockLen)
	}
	var kb [keys.Buf + keys.MaxID]byte
	var deleted bool
	if w.record, deleted, w.recorded = p.rules.Written.Now.Get(keys.AppendIndex(kb[:0], w.channel, id)); deleted {
		w.record = nil
	}
	v.wantedSeqs = append(v.wantedSeqs, w)
}

// recentBlocks returns the newest full blocks of a log, down to the first that was not written
// since the last cut. An earlier block may have been rewritten too, but that changes no id in it.
func recentBlocks(now *overlay.Overlay, channel []byte, full uint32) map[uint32][]byte {
	recent := map[uint32][]byte{}
	var kb [keys.Buf]byte
	for b := full; b > 0; b-- {
		block, deleted, known := now.Get(keys.AppendLog(kb[:0], channel, b-1))
		if !known || deleted {
			break
		}
		recent[b-1] = block // values in the overlay are never overwritten
	}
	return recent
}

// settle sets the seq from the results of memory.
func (w *wantedSeq) settle() {
	if w.ref.Seq = w.found; w.found == 0 {
		w.ref.Seq = w.kept
	}
}

// fillSeqs searches the store for the ids, as State.Lookup does in memory and the store.
func (v *Views) fillSeqs(ctx context.Context) error {
	retention := v.p.rules.Settings.IndexRetention
	for i := range v.wantedSeqs {
		w := &v.wantedSeqs[i]
		if w.plain {
			x, ok, err := w.search.Run(func(b uint32) ([]byte, error) { return v.blockAt(ctx, w, b) })
			if err != nil {
				return fmt.Errorf("log of channel %q: looking for a message id: %w", w.channel, err)
			}
			if ok && v.logTime-x.Time <= retention {
				w.ref.Seq = x.Seq
				continue
			}
		}
		record := w.record
		if !w.recorded {
			var kb [keys.Buf + keys.MaxID]byte
			var err error
			if record, _, err = v.m.get(keys.AppendIndex(kb[:0], w.channel, w.id)); err != nil {
				return fmt.Errorf("message index of channel %q: %w", w.channel, err)
			}
		}
		if x, ok := state.IndexedIn(record, w.found, v.logTime, retention); ok {
			w.ref.Seq = x.Seq
			continue
		}
		w.settle()
	}
	return nil
}

// blockAt returns a block of the log to search.
func (v *Views) blockAt(ctx context.Context, w *wantedSeq, b uint32) ([]byte, error) {
	if block, ok := w.recent[b]; ok {
		return block, nil
	}
	if err := v.m.checkStopped(ctx); err != nil {
		return nil, err
	}
	var kb [keys.Buf]byte
	block, ok, err := v.m.get(keys.AppendLog(kb[:0], w.channel, b))
	if err == nil && !ok {
		err = fmt.Errorf("block %d is missing from the store", b)
	}
	return bytes.Clone(block), err // the search uses two blocks at a time
}
