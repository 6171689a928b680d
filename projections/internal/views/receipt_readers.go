package views

import (
	"context"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Reader states how far a member has read publicly; the zero Ref if nowhere.
type Reader struct {
	UserID  string
	Message Ref
	At      int64 // Unix milliseconds; meaningful only if Message.Seq > 0
}

// ReadersView is the read state of a room (DESIGN §9, GetReaders): a page of its members, ordered
// by their first join. Next is as in ReceiptsView.
type ReadersView struct {
	List []Reader
	Next uint32
}

// ReadersMemory is the memory for a page of readers. Like ViewMemory, it is allocated before the
// lock is taken.
type ReadersMemory struct {
	list  []Reader
	users []byte // their ids, one after the other
	ends  []int  // end of each id in users
	texts ViewMemory
}

// NewReadersMemory allocates the memory for a page of at most limit members.
func NewReadersMemory(limit int) *ReadersMemory {
	const idBytes = 24
	r := &ReadersMemory{list: make([]Reader, 0, limit), users: make([]byte, 0, limit*idBytes), ends: make([]int, 0, limit)}
	r.texts.reserveTexts(limit)
	return r
}

// ReadersWalk is an answer of Readers in progress.
type ReadersWalk struct {
	memory *ReadersMemory
	texts  *Views
	next   uint32
}

// Readers returns a page of a channel's members and how far each has read publicly, own posts
// included. It returns false as View does. Err has the error of a corrupt store. The caller holds
// RLock, and the store must not be closed meanwhile.
func (p *Queries) Readers(channelID string, from uint32, limit int) (v ReadersView, ok bool) {
	w, ok := p.BeginReaders(channelID, from, NewReadersMemory(limit))
	if !ok {
		return v, false
	}
	v, _ = w.End(context.Background()) // Err has the error
	return v, true
}

// BeginReaders is the part of Readers that reads memory; room determines the length of the page. It
// must be followed by one call of End, after RLock is released; End reads the store. The answer is
// of the position at which BeginReaders was called. The caller holds RLock.
func (p *Queries) BeginReaders(channelID string, from uint32, mem *ReadersMemory) (*ReadersWalk, bool) {
	_, c, ok := p.rules.KnownChannel(channelID)
	if !ok {
		return nil, false
	}
	w := &ReadersWalk{memory: mem, texts: p.BeginViewsIn(&mem.texts)}
	var recent [history.BlockLen]Ref // messages in memory, since many members have read up to the same one
	for ord := from; ord < c.Ords; ord++ {
		r := p.rules.Rows.At(p.rules.MemberRow(c, ord))
		if r.Flags&state.RowMember == 0 || p.rules.Erased(r) {
			continue
		}
		if len(mem.list) == cap(mem.list) {
			w.next = ord
			break
		}
		mem.users = append(mem.users, p.rules.UserID(r.User)...)
		mem.ends = append(mem.ends, len(mem.users))
		mem.list = append(mem.list, Reader{})
		x := &mem.list[len(mem.list)-1]
		seq, at, _ := p.rules.Furthest(c, r, 0)
		if own, ownAt := p.rules.LastOwn(r); own > 0 && own >= seq {
			seq, at = own, ownAt
		}
		if seq == 0 {
			continue
		}
		x.At = at
		known := seq % history.BlockLen
		if recent[known].Seq == seq {
			x.Message = recent[known]
			continue
		}
		p.ref(c, seq, &x.Message, w.texts)
		if p.rules.InMemory(c, seq) {
			recent[known] = x.Message
		}
	}
	return w, true
}

// End reads the store and completes the answer. It fails as ReceiptsWalk.End does; then there is no
// answer.
func (w *ReadersWalk) End(ctx context.Context) (v ReadersView, err error) {
	if err := w.texts.End(ctx); err != nil {
		return v, err
	}
	all, from := string(w.memory.users), 0
	for i, to := range w.memory.ends {
		w.memory.list[i].UserID = all[from:to]
		from = to
	}
	return ReadersView{List: w.memory.list, Next: w.next}, nil
}
