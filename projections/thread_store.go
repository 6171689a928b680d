package projections

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/records"
	"github.com/tidemark/tidemark/projections/internal/seqset"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// appendFollower encodes the key of a follow: user id, 0x00, thread id.
func (p *Partition) appendFollower(b []byte, r *state.Row) []byte {
	b = append(append(b, p.rules.UserID(r.User)...), 0)
	return append(b, p.rules.Blobs.Get(p.rules.Threads.At(p.rules.Follows.At(r.Scope).Thread).ID)...)
}

// cutThreads encodes the dirty threads and follows.
func (k *cutting) cutThreads() {
	var kb [keys.Buf]byte
	for ti := range k.rules.DirtyThreads {
		t := k.rules.Threads.At(ti)
		k.note(t.Channel, k.rules.Channels.At(t.Channel))
		channel, id := k.rules.Blobs.Get(k.rules.Channels.At(t.Channel).ID), k.rules.Blobs.Get(t.ID)
		k.cutSet(&t.Live, channel, keys.HotReplies, id)
		k.cutSet(&t.Casts, channel, keys.HotBroadcasts, id)
		k.cutSet(&t.Alls, channel, keys.HotThreadAlls, id)
		k.rules.Scratch = k.rules.Scratch[:0]
		if t.First != 0 { // otherwise only reads name it, and the log has everything about its root
			k.rules.Scratch = append(k.rules.Scratch, t.Flags&(state.ThreadGone|state.ThreadUnseen))
			k.rules.Scratch = binary.AppendUvarint(k.rules.Scratch, uint64(t.Root))
			k.rules.Scratch = binary.AppendUvarint(k.rules.Scratch, uint64(t.First))
		}
		k.replace(append(keys.AppendHot(kb[:0], channel, keys.HotThread), id...), k.rules.Scratch)
		k.step()
	}
	for ref := range k.rules.DirtyFollows {
		r := k.rules.Rows.At(ref)
		c := k.rules.Channels.At(r.Channel)
		k.note(r.Channel, c)
		key := k.appendFollower(keys.AppendHot(kb[:0], k.rules.Blobs.Get(c.ID), keys.HotFollow), r)
		k.rules.Scratch = k.rules.Scratch[:0]
		if f := k.rules.Follows.At(r.Scope); !k.rules.FollowIdle(r, f) {
			k.rules.Scratch = records.AppendFollow(k.rules.Scratch, f, k.id.Settings.TrimLog)
			k.rules.Scratch = records.AppendRow(k.rules.Scratch, r, k.rules.ExtraOfPair(r))
		} else {
			k.idle = append(k.idle, ref)
		}
		k.replace(key, k.rules.Scratch)
		k.step()
	}
}

// loadThreadRecord loads a record of a thread.
func (p *Partition) loadThreadRecord(ci uint32, kind byte, rest, val []byte) error {
	if kind == keys.HotThread {
		t := p.rules.Threads.At(p.loadThread(ci, rest))
		r := wire.Reader{B: val}
		t.Flags, t.Root, t.First = r.Byte(), r.U32(), r.U32()
		return r.Done()
	}
	id, hi, err := keys.CutHi(rest)
	if err != nil {
		return err
	}
	t := p.rules.Threads.At(p.loadThread(ci, id))
	return map[byte]*seqset.Set{keys.HotReplies: &t.Live, keys.HotBroadcasts: &t.Casts, keys.HotThreadAlls: &t.Alls}[kind].Decode(hi, val)
}

func (p *Partition) loadThread(ci uint32, id []byte) uint32 {
	if ti := p.rules.ThreadOf(ci, id); ti != 0 {
		return ti
	}
	return p.rules.MakeThread(ci, p.rules.Channels.At(ci), id)
}

// loadFollower returns the row of a user in a thread, and creates it if needed.
func (p *Partition) loadFollower(ci uint32, who []byte) (*state.Row, error) {
	user, id, ok := bytes.Cut(who, []byte{0})
	if !ok || len(user) == 0 || len(id) == 0 {
		return nil, errors.New("malformed key")
	}
	pair, _ := p.rules.EnsureRow(ci, p.rules.EnsureUser(user))
	_, r := p.rules.EnsureThreadRow(p.loadThread(ci, id), pair)
	return r, nil
}

// loadedFollow treats the loaded state of a thread row as published, except where an open time
// target may have moved the pointer.
func (p *Partition) loadedFollow(r *state.Row) {
	c := p.rules.Channels.At(r.Channel)
	f := p.rules.Follows.At(r.Scope)
	// This follow may have been created before the record of its pair was read, which is erased.
	if f.Flags&state.FollowStopped == 0 && p.rules.Rows.At(f.Pair).Erased() {
		r.OwnFloor, f.Flags = state.NoOwn, state.FollowStopped
	}
	p.rules.AwaitFollow(f.Row)
	if x := p.rules.ExtraOfPair(r); x != nil && x.OpenInTime() {
		f.LastSeen = state.SeenUnknown
		return
	}
	p.rules.CloseFollow(c, f)
	f.LastSeen = p.rules.ThreadSignature(c, r)
}
