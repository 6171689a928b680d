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

// ReadersRoom is the memory for a page of readers. Like ViewRoom, it is allocated before the lock
// is taken.
type ReadersRoom struct {
	list  []Reader
	users []byte // their ids, one after the other
	ends  []int  // end of each id in users
	texts ViewRoom
}

// NewReadersRoom allocates the memory for a page of at most limit members.
func NewReadersRoom(limit int) *ReadersRoom {
	const idBytes = 24
	r := &ReadersRoom{list: make([]Reader, 0, limit), users: make([]byte, 0, limit*idBytes), ends: make([]int, 0, limit)}
	r.texts.reserveTexts(limit)
	return r
}

// ReadersWalk is an answer of Readers in progress.
type ReadersWalk struct {
	room  *ReadersRoom
	texts *Views
	next  uint32
}

// Readers returns a page of a channel's members and how far each has read publicly, own posts
// included. It returns false as View does. Err has the error of a corrupt store. The caller holds
// RLock, and the store must not be closed meanwhile.
func (p *Queries) Readers(channelID string, from uint32, limit int) (v ReadersView, ok bool) {
	w, ok := p.BeginReaders(channelID, from, NewReadersRoom(limit))
	if !ok {
		return v, false
	}
	v, _ = w.End(context.Background()) // Err has the error
	return v, true
}

// BeginReaders is the part of Readers that reads memory; room determines the length of the page. It
// must be followed by one call of End, after RLock is released; End reads the store. The answer is
// of the position at which BeginReaders was called. The caller holds RLock.
func (p *Queries) BeginReaders(channelID string, from uint32, room *ReadersRoom) (*ReadersWalk, bool) {
	_, c, ok := p.rules.KnownChannel(channelID)
	if !ok {
		return nil, false
	}
	w := &ReadersWalk{room: room, texts: p.BeginViewsIn(&room.texts)}
	var recent [history.BlockLen]Ref // messages in memory, since many members have read up to the same one
	for ord := from; ord < c.Ords; ord++ {
		r := p.rules.Rows.At(p.rules.MemberRow(c, ord))
		if r.Flags&state.RowMember == 0 || r.Erased() {
			continue
		}
		if len(room.list) == cap(room.list) {
			w.next = ord
			break
		}
		room.users = append(room.users, p.rules.UserID(r.User)...)
		room.ends = append(room.ends, len(room.users))
		room.list = append(room.list, Reader{})
		x := &room.list[len(room.list)-1]
		seq, at, _ := p.rules.Furthest(c, r)
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
	all, from := string(w.room.users), 0
	for i, to := range w.room.ends {
		w.room.list[i].UserID = all[from:to]
		from = to
	}
	return ReadersView{List: w.room.list, Next: w.next}, nil
}
