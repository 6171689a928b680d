package loading

import (
	"bytes"
	"errors"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/seqset"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// threadRecord loads a record of a thread.
func (l Loader) threadRecord(ci uint32, kind byte, rest, val []byte) error {
	if kind == keys.HotThread {
		t := l.Threads.At(l.thread(ci, rest))
		r := wire.Reader{B: val}
		t.Flags, t.Root, t.First = r.Byte(), r.U32(), r.U32()
		return r.Done()
	}
	id, hi, err := keys.CutHi(rest)
	if err != nil {
		return err
	}
	t := l.Threads.At(l.thread(ci, id))
	return map[byte]*seqset.Set{keys.HotReplies: &t.Live, keys.HotBroadcasts: &t.Casts, keys.HotThreadAlls: &t.Alls}[kind].Decode(hi, val)
}

func (l Loader) thread(ci uint32, id []byte) uint32 {
	if ti := l.ThreadOf(ci, id); ti != 0 {
		return ti
	}
	return l.MakeThread(ci, l.Channels.At(ci), id)
}

// follower returns the row of a user in a thread, and creates it if needed.
func (l Loader) follower(ci uint32, who []byte) (*state.Row, error) {
	user, id, ok := bytes.Cut(who, []byte{0})
	if !ok || len(user) == 0 || len(id) == 0 {
		return nil, errors.New("malformed key")
	}
	pair, _ := l.EnsureRow(ci, l.EnsureUser(user))
	_, r := l.EnsureThreadRow(l.thread(ci, id), pair)
	return r, nil
}

// follow treats the loaded state of a thread row as published, except where an open time
// target may have moved the pointer.
func (l Loader) follow(r *state.Row) {
	c := l.Channels.At(r.Channel)
	f := l.FollowOf(r)
	// This follow may have been created before the record of its pair was read, which is erased.
	if f.Flags&state.FollowStopped == 0 && l.Erased(l.Rows.At(f.Pair)) {
		l.EnsureRare(r).OwnFloor, f.Flags = state.NoOwn, state.FollowStopped
	}
	l.AwaitFollow(f.Row)
	if x := l.ExtraOfPair(r); x != nil && x.OpenInTime() {
		f.LastSeen = state.SeenUnknown
		return
	}
	l.CloseFollow(c, f)
	f.LastSeen = l.ThreadSignature(c, r)
}
