package state

import (
	"bytes"

	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/seqset"
)

// A thread is a scope of its own (DESIGN §4.4): its replies count, and each user who does anything
// with it has a row as for the channel, with a pointer, single reads, marks and held events. Seqs
// are those of the channel, so the log, the index and the triggers are the channel's. Channels
// without threads pay nothing for any of it.

// Thread is what chat.messages says of one thread. Silent replies are not in it: nobody sees them.
type Thread struct {
	Channel, ID uint32 // channel, blob
	Next        uint32 // next thread of the channel
	Follows     uint32 // list of its follows, through Follow.Next
	Root        uint32 // the first message with the thread's id, 0 = not posted
	First       uint32 // its first reply
	Flags       uint8
	Replied     TimeOf     // of the newest live reply
	Live        seqset.Set // replies that count: live, and not broadcast, which count in the channel
	Casts       seqset.Set // live broadcast replies
	Alls        seqset.Set // those of live that mention all
}

// Thread.Flags
const (
	ThreadGone    = 1 << iota // its root was deleted
	ThreadListed              // in State.OutThreads
	ThreadReplied             // somebody replied since the last drain: all its followers see that
	ThreadUnseen              // all its replies are hidden from the root's author
)

// Follow is what a thread's row has besides: whether and from where on its user follows the thread.
// It has no pointers.
//
// As messages come first in the one definition, what follows automatically is the least seq that
// any of them gives; it counts as long as the user never unfollowed. Of several follows by word the
// earliest counts. A follow by word counts replies later than its time, and reaches as far as a
// time target of a read does: the earliest of several is that with the least time and the least
// horizon, whichever event had which.
type Follow struct {
	Thread  uint32
	Pair    uint32 // the user's row in the channel
	Row     uint32 // the user's row in the thread
	Next    uint32 // next follow of the thread
	Sibling uint32 // next follow of the pair
	Auto    uint32 // seq of the first reply that counts by an automatic follow, 0 = none
	Closed  uint32 // 1 + the seq after which the follow by word counts, once final: not state, a memory of the log
	Flags   uint8

	ExplicitTime    int64  // least time of the follows by word
	ExplicitHorizon int64  // least horizon of them
	ExplicitAt      int64  // latest time of them
	LastSeen        uint64 // hash of what was told last, 0 = nothing: not state
}

// SeenUnknown is the hash of nothing that is ever told.
const SeenUnknown = 1

// Follow.Flags
const (
	FollowExplicit = 1 << iota // follows by word
	FollowStopped              // unfollowed once: nothing is automatic any more
)

// ThreadHash is the hash by which a thread is found.
func ThreadHash(ch uint32, id []byte) uint64 {
	return arena.Mix(IDHash(id) ^ arena.PairHash(ch, ^uint32(0)))
}

// ThreadOf returns the thread's index, 0 if nothing names it.
func (p *State) ThreadOf(ci uint32, id []byte) uint32 {
	return p.ThreadTable.Find(ThreadHash(ci, id), func(ref uint32) bool {
		t := p.Threads.At(ref)
		return t.Channel == ci && bytes.Equal(p.Blobs.Get(t.ID), id)
	})
}

// MakeThread adds a thread of which nothing is known.
func (p *State) MakeThread(ci uint32, c *Channel, id []byte) uint32 {
	x := p.EnsureExtra(c)
	t := &Thread{Channel: ci, ID: p.Blobs.Put(id), Next: x.Threads}
	ti := p.Threads.Put(t)
	x.Threads = ti
	p.ThreadTable.Insert(ThreadHash(ci, id), ti)
	return ti
}

// EnsureThread returns the thread that a reply or a read names. Its root is the first message that
// ever had its id, whatever its age.
func (p *State) EnsureThread(ci uint32, c *Channel, id []byte) uint32 {
	if ti := p.ThreadOf(ci, id); ti != 0 {
		return ti
	}
	ti := p.MakeThread(ci, c, id)
	p.FindRoot(c, p.Threads.At(ti))
	return ti
}

// FindRoot notes which message is the root of a thread, if it is known.
func (p *State) FindRoot(c *Channel, t *Thread) {
	id := p.Blobs.Get(t.ID)
	if x, ok := p.Lookup(c, id, IDHash(id), AnyAge); ok {
		t.Root = x.Seq
		if e := p.EntryAt(c, x.Seq); e.Flags&history.Deleted != 0 {
			t.Flags |= ThreadGone
		}
	}
}

// ThreadRowOf returns the row of a user in a thread, 0 if there is none.
func (p *State) ThreadRowOf(ti, user uint32) uint32 {
	return p.PairTable.Find(arena.PairHash(^ti, user), func(ref uint32) bool {
		r := p.Rows.At(ref)
		return r.User == user && r.Flags&RowThread != 0 && p.Follows.At(r.Scope).Thread == ti
	})
}

// EnsureThreadRow returns the row in a thread of the user whose row in the channel is pair.
func (p *State) EnsureThreadRow(ti, pair uint32) (uint32, *Row) {
	pr := p.Rows.At(pair)
	if ref := p.ThreadRowOf(ti, pr.User); ref != 0 {
		return ref, p.Rows.At(ref)
	}
	t, c := p.Threads.At(ti), p.Channels.At(pr.Channel)
	ref, fi := p.Rows.Alloc(), p.Follows.Alloc()
	r := p.Rows.At(ref)
	r.Channel, r.User, r.Ord, r.Flags, r.Scope = pr.Channel, pr.User, NoOrdinal, RowThread, fi
	r.NextRow, c.Rows = c.Rows, ref
	f := p.Follows.At(fi)
	*f = Follow{Thread: ti, Pair: pair, Row: ref, Next: t.Follows, Sibling: pr.Scope}
	if pr.Erased() {
		r.OwnFloor = NoOwn
		f.Erase()
	}
	t.Follows, pr.Scope = fi, fi
	p.PairTable.Insert(arena.PairHash(^ti, pr.User), ref)
	return ref, r
}

// TouchThread marks the record of a thread as out of date.
func (p *State) TouchThread(ti uint32) {
	if _, known := p.DirtyThreads[ti]; !known {
		p.DirtyThreads[ti] = struct{}{}
		p.MarkedBytes += 64
	}
}

// Newest is the thread's newest live reply, 0 if there is none.
func (t *Thread) Newest(floor uint32) uint32 {
	if s := max(t.Live.Max(), t.Casts.Max()); s > floor {
		return s
	}
	return 0
}

// Gone reports whether the thread is in nobody's panel: its root was deleted, or it has no live
// reply.
func (t *Thread) Gone(c *Channel) bool {
	return t.Flags&ThreadGone != 0 || t.Newest(c.Floor) == 0
}

// Ended reports whether there is nothing to follow: the root was deleted, or purged and no reply is
// left.
func (t *Thread) Ended(c *Channel) bool {
	return t.Flags&ThreadGone != 0 || (t.Root != 0 && t.Root <= c.Floor && t.Newest(c.Floor) == 0)
}

// FollowFrom is the seq after which replies count for the user; false if they do not follow the
// thread.
func (p *State) FollowFrom(c *Channel, f *Follow) (from uint32, is bool) {
	if f.Flags&FollowExplicit != 0 {
		from, is = f.Closed-1, true
		if f.Closed == 0 {
			from = p.SeqAt(c, f.ExplicitTime, f.ExplicitHorizon)
		}
	}
	if f.Auto != 0 && f.Flags&FollowStopped == 0 && (!is || f.Auto-1 < from) {
		from, is = f.Auto-1, true
	}
	return from, is
}

// CloseFollow keeps where a follow by word begins once no message can change it, so that it is
// looked up once.
func (p *State) CloseFollow(c *Channel, f *Follow) {
	if f.Flags&FollowExplicit != 0 && f.Closed == 0 && c.HeadSeq > 0 && (c.Time > f.ExplicitTime || c.LogTime > f.ExplicitHorizon) {
		f.Closed = p.SeqAt(c, f.ExplicitTime, f.ExplicitHorizon) + 1
	}
}

// Previous is the message before e in the chain of the user's own posts in the row's scope.
func Previous(e *history.Entry, r *Row) uint32 {
	if r.Flags&RowThread != 0 {
		return e.PrevIn
	}
	return e.PrevOwn
}

// InScope reports whether a message can be read singly in the row's scope.
func (p *State) InScope(c *Channel, r *Row, x history.Indexed) bool {
	if r.Flags&RowThread == 0 {
		return x.Flags&(history.Reply|history.Broadcast) != history.Reply
	}
	if x.Flags&(history.Reply|history.Broadcast) != history.Reply {
		return false
	}
	e := p.EntryAt(c, x.Seq)
	return bytes.Equal(e.Thread, p.Blobs.Get(p.Threads.At(p.Follows.At(r.Scope).Thread).ID))
}
