package views

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Views are a user's views of some channels and threads, all at one position. Data in memory is
// read under the lock. End reads the messages that are not in memory, without the lock.
type Views struct {
	p       *Queries
	m       *moment
	logTime int64
	memory  *ViewMemory
	Wanted  []wantedText
	err     error

	wantedSeqs []wantedSeq

	warmed uint64 // keeps the compiler from removing the loads of WarmThreads

	// The last message from memory and its id, because a view names one message several times.
	named   *state.Channel
	namedAt uint32
	namedID string
}

// wantedText is a message that a view names and whose text is in a block of the log.
type wantedText struct {
	key   []byte // key of the block
	group uint64 // identifies the key
	n     uint32 // its number in the log
	seq   uint32
	block []byte // nil: the block is in the store
	ref   *Ref   // where to put the result; one of the two is nil
	head  *Head
	of    state.HeadLog // only for head: the head of the message's channel
}

// message identifies the message.
func (w *wantedText) message() uint64 { return w.group>>32<<32 | uint64(w.n) }

// wantedPlace is the place where a row of equal names of a message begins.
type wantedPlace struct {
	message uint64
	at      uint32
}

// BeginViews begins a set of views. The caller holds RLock while it asks for views, and then calls
// End once.
func (p *Queries) BeginViews() *Views { return p.BeginViewsIn(&ViewMemory{}) }

// BeginViewsIn is BeginViews with memory that was allocated before the lock was taken. Only one
// Views at a time may use a room.
func (p *Queries) BeginViewsIn(mem *ViewMemory) *Views {
	return &Views{p: p, logTime: p.rules.MessageTime, memory: mem, Wanted: mem.wanted[:0]}
}

// threadView allocates a view of a thread.
func (v *Views) threadView() *ThreadView {
	if v == nil {
		return &ThreadView{}
	}
	return take(&v.memory.threads)
}

// want lists a message to read in End. The first one begins the moment.
func (v *Views) want(c *state.Channel, seq uint32, ref *Ref, head *Head) {
	if v.m == nil && v.err == nil {
		v.m, v.err = v.p.momentOf(nil)
	}
	n := seq - v.p.rules.SeedOf(c)
	block := history.BlockOf(n)
	w := wantedText{group: uint64(c.ID)<<32 | uint64(block), n: n, seq: seq, ref: ref, head: head}
	if head != nil {
		w.of = v.p.rules.HeadLogOf(c)
	}
	if last := len(v.Wanted) - 1; last >= 0 && v.Wanted[last].group == w.group {
		w.key, w.block = v.Wanted[last].key, v.Wanted[last].block
	} else {
		id := v.p.rules.Blobs.Get(c.ID)
		w.key = keys.AppendLog(v.memory.key(len(id)), id, block)
		if b, deleted, known := v.p.rules.Written.Now.Get(w.key); known && !deleted {
			w.block = b // values in the overlay are never overwritten
		}
	}
	v.Wanted = append(v.Wanted, w)
}

// End reads the store. It fails as ReceiptsWalk.End does; then there is no answer.
func (v *Views) End(ctx context.Context) error {
	defer v.memory.reuse(v)
	if v.m == nil || v.err != nil {
		return v.err
	}
	return v.m.read(ctx, func() error {
		if err := v.fillTexts(ctx); err != nil {
			return err
		}
		return v.fillSeqs(ctx)
	})
}

// Drop ends views that are no longer needed.
func (v *Views) Drop() {
	if v.m != nil {
		v.m.drop()
	}
}

func (v *Views) fillTexts(ctx context.Context) error {
	// Sort by log position, so that each block and message is read once. A view names one message
	// several times in a row; the first is enough.
	order := v.memory.order[:0]
	for i := range v.Wanted {
		if m := v.Wanted[i].message(); len(order) == 0 || order[len(order)-1].message != m {
			order = append(order, wantedPlace{m, uint32(i)})
		}
	}
	v.memory.order = order
	slices.SortFunc(order, func(a, b wantedPlace) int { return cmp.Compare(a.message, b.message) })
	var block []byte
	var e history.Entry
	var id string // id of e, empty if the message has left the index
	indexed := false
	for i, o := range order {
		w := &v.Wanted[o.at]
		if i == 0 || v.Wanted[order[i-1].at].group != w.group {
			var err error
			if block, err = v.blockOf(ctx, w); err != nil {
				return err
			}
		}
		if i == 0 || order[i-1].message != o.message {
			if err := history.BlockEntry(block, w.n, w.seq, &e); err != nil {
				return fmt.Errorf("record %q, message %d: %w", w.key, w.seq, err)
			}
			id = ""
			if indexed = v.logTime-e.Time <= v.p.rules.Settings.IndexRetention; indexed {
				id = string(e.ID)
			}
		}
		for at := int(o.at); at < len(v.Wanted) && v.Wanted[at].message() == o.message; at++ {
			if w := &v.Wanted[at]; w.head != nil {
				at, err := v.p.rules.ToldIn(block, w.n, &e, &w.of)
				if err != nil {
					return fmt.Errorf("record %q, message %d: %w", w.key, w.seq, err)
				}
				w.head.fill(&e, id, indexed, at)
			} else {
				w.ref.MessageID = id
			}
		}
	}
	return nil
}

// blockOf returns the block that a message is in.
func (v *Views) blockOf(ctx context.Context, w *wantedText) ([]byte, error) {
	if w.block != nil {
		return w.block, nil
	}
	if err := v.m.checkStopped(ctx); err != nil {
		return nil, err
	}
	b, ok, err := v.m.get(w.key)
	if err == nil && !ok {
		err = fmt.Errorf("record %q is missing from the store", w.key)
	}
	return b, err
}

// fill sets the fields from e. indexed reports whether the message is still in the index; at is the
// time to state.
func (h *Head) fill(e *history.Entry, id string, indexed bool, at int64) {
	h.At = at
	if indexed {
		h.MessageID, h.SenderID, h.Preview = id, string(e.Sender), string(e.Preview)
	}
}

// ref sets a message's seq and id. If later is not nil, later.End sets an id that is not in memory.
func (p *Queries) ref(c *state.Channel, seq uint32, to *Ref, later *Views) {
	to.Seq = seq
	if later != nil && !p.rules.InMemory(c, seq) {
		later.want(c, seq, to, nil)
		return
	}
	if later == nil {
		to.MessageID = p.messageID(c, seq)
		return
	}
	if later.named != c || later.namedAt != seq {
		later.named, later.namedAt, later.namedID = c, seq, p.messageID(c, seq)
	}
	to.MessageID = later.namedID
}

// head describes a message, without its Pos.
func (p *Queries) head(c *state.Channel, seq uint32, to *Head, later *Views) {
	to.Seq = seq
	if later != nil && !p.rules.InMemory(c, seq) {
		later.want(c, seq, nil, to)
		return
	}
	e := p.rules.EntryAt(c, seq)
	at, _ := p.rules.Told(c, &e)
	to.fill(&e, string(e.ID), p.rules.InIndex(c, &e), at)
}

// messageID returns the id of a message, or "" if it has left the index (DESIGN §4.6).
func (p *Queries) messageID(c *state.Channel, seq uint32) string {
	e := p.rules.EntryAt(c, seq)
	if !p.rules.InIndex(c, &e) {
		return ""
	}
	return string(e.ID)
}

// named returns the message that a query names by id: the oldest with this id that is still in the
// index, else the newest in the tail, which keeps ids at any age.
func (p *Queries) named(c *state.Channel, id []byte) (history.Entry, bool) {
	if x, ok := p.rules.Lookup(c, id, state.IDHash(id), p.rules.MessageTime); ok {
		return p.rules.EntryAt(c, x.Seq), true
	}
	for s := c.HeadSeq; c.InTail(s); s-- {
		if e := p.rules.EntryAt(c, s); bytes.Equal(e.ID, id) {
			return e, true
		}
	}
	return history.Entry{}, false
}
