package state

import (
	"bytes"

	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/seqset"
)

// A thread is a scope of its own (DESIGN §4.4). Its replies count in it, and each user who does
// anything with it has a row in it, with a pointer, single reads, marks and held events like a row
// in the channel. Seqs are those of the channel, so the thread uses the channel's log, index and
// waiters. Channels without threads have no costs for any of it.

// Thread is the state of one thread from chat.messages. It does not include silent replies, which
// no user sees.
type Thread struct {
	Channel, ID uint32 // the channel's index; the id's blob
	Next        uint32 // next thread of the channel
	Follows     uint32 // list of its follows, through Follow.Next
	Root        uint32 // the first message with the thread's id, 0 = not posted
	First       uint32 // its first reply
	Flags       uint8
	Replied     TimeOf     // time of the newest live reply
	Live        seqset.Set // replies that count here: live and not broadcast (broadcasts count in the channel)
	Casts       seqset.Set // live broadcast replies
	Alls        seqset.Set // the replies in Live that mention everybody
}

// Bits of Thread.Flags.
const (
	ThreadGone    = 1 << iota // the root was deleted
	ThreadListed              // the thread is in State.OutThreads
	ThreadReplied             // replied to since the last drain: the views of all followers change
	ThreadUnseen              // all replies are hidden from the root's author
)

// Follow is the part of a thread's row that a channel's row does not have: whether, and from where
// on, its user follows the thread. It has no pointers.
//
// In the one definition messages come first, so the automatic follow starts at the least seq that
// any message gives. It counts as long as the user never unfollowed. Of several explicit follows
// the earliest counts. An explicit follow counts replies later than its time, and reaches as far as
// a read with that time target. The earliest of several combines the least time and the least
// horizon, even if those are of different events, and the log time of the last event that made one
// of them earlier.
type Follow struct {
	Thread  uint32
	Pair    uint32 // the user's row in the channel
	Row     uint32 // the user's row in the thread
	Next    uint32 // next follow of the thread
	Sibling uint32 // next follow of the pair
	Auto    uint32 // seq of the first reply that counts by the automatic follow, 0 = none
	Closed  uint32 // 1 + the seq after which the explicit follow counts, once final: a cache of the log, and state only if the log ends
	Flags   uint8

	ExplicitTime    int64  // least time of the explicit follows
	ExplicitHorizon int64  // least horizon of the explicit follows
	ExplicitAt      int64  // latest time of the explicit follows
	ExplicitNow     int64  // if the log ends: log time of chat.reads at the event of ExplicitTime
	LastSeen        uint64 // hash of what was published last, 0 = nothing: not state
}

// SeenUnknown is a hash that equals no published view.
const SeenUnknown = 1

// Bits of Follow.Flags.
const (
	FollowExplicit = 1 << iota // has an explicit follow
	FollowStopped              // unfollowed once: no automatic follow counts any more
)

// ThreadHash returns the hash of a thread in its table.
func ThreadHash(ch uint32, id []byte) uint64 {
	return arena.Mix(IDHash(id) ^ arena.PairHash(ch, ^uint32(0)))
}

// ThreadOf returns the thread's index, or 0.
func (p *State) ThreadOf(ci uint32, id []byte) uint32 {
	return p.ThreadTable.Find(ThreadHash(ci, id), func(ref uint32) bool {
		t := p.Threads.At(ref)
		return t.Channel == ci && bytes.Equal(p.Blobs.Get(t.ID), id)
	})
}

// MakeThread adds a thread without content.
func (p *State) MakeThread(ci uint32, c *Channel, id []byte) uint32 {
	x := p.EnsureExtra(c)
	t := &Thread{Channel: ci, ID: p.Blobs.Put(id), Next: x.Threads}
	ti := p.Threads.Put(t)
	x.Threads = ti
	p.ThreadTable.Insert(ThreadHash(ci, id), ti)
	return ti
}

// EnsureThread returns the thread that a reply or a read names, and creates it if needed.
func (p *State) EnsureThread(ci uint32, c *Channel, id []byte) uint32 {
	if ti := p.ThreadOf(ci, id); ti != 0 {
		return ti
	}
	ti := p.MakeThread(ci, c, id)
	p.FindRoot(c, p.Threads.At(ti))
	return ti
}

// FindRoot sets the root of a thread without replies: the oldest message with its id that
// chat.messages remembers. The first reply makes that final.
func (p *State) FindRoot(c *Channel, t *Thread) {
	t.Flags &^= ThreadGone
	var gone bool
	if t.Root, gone = p.findRoot(c, t); gone {
		t.Flags |= ThreadGone
	}
}

func (p *State) findRoot(c *Channel, t *Thread) (root uint32, gone bool) {
	id := p.Blobs.Get(t.ID)
	x, ok := p.LookupRemembered(c, id, IDHash(id), p.MessageTime)
	if !ok {
		return 0, false
	}
	e := p.EntryAt(c, x.Seq)
	return x.Seq, e.Flags&history.Deleted != 0
}

// rootForgotten reports whether chat.messages has forgotten the root of a thread without replies.
func (p *State) rootForgotten(c *Channel, t *Thread) bool {
	if t.First != 0 || t.Root == 0 || !p.Settings.TrimLog {
		return false
	}
	e := p.EntryAt(c, t.Root)
	return !p.Remembers(e.LogTime, p.MessageTime)
}

// RefreshRoot finds the root of a thread anew if it was forgotten.
func (p *State) RefreshRoot(c *Channel, t *Thread) {
	if p.rootForgotten(c, t) {
		p.FindRoot(c, t)
	}
}

// RootOf returns the root of a thread as it is now, and whether it was deleted.
func (p *State) RootOf(c *Channel, t *Thread) (root uint32, gone bool) {
	if p.rootForgotten(c, t) {
		return p.findRoot(c, t)
	}
	return t.Root, t.Flags&ThreadGone != 0
}

// ThreadRowOf returns the row of a user in a thread, or 0.
func (p *State) ThreadRowOf(ti, user uint32) uint32 {
	return p.PairTable.Find(arena.PairHash(^ti, user), func(ref uint32) bool {
		r := p.Rows.At(ref)
		return r.User == user && r.Flags&RowThread != 0 && p.FollowOf(r).Thread == ti
	})
}

// EnsureThreadRow returns the row in a thread of the user whose row in the channel is pair, and
// creates it if needed.
func (p *State) EnsureThreadRow(ti, pair uint32) (uint32, *Row) {
	pr := p.Rows.At(pair)
	if ref := p.ThreadRowOf(ti, pr.User); ref != 0 {
		return ref, p.Rows.At(ref)
	}
	t, c := p.Threads.At(ti), p.Channels.At(pr.Channel)
	ref, fi := p.Rows.Alloc(), p.Follows.Alloc()
	r := p.Rows.At(ref)
	r.Channel, r.User, r.Flags = pr.Channel, pr.User, RowThread
	of, in := p.EnsureRare(pr), p.EnsureRare(r)
	p.listOther(c, ref)
	f := p.Follows.At(fi)
	*f = Follow{Thread: ti, Pair: pair, Row: ref, Next: t.Follows, Sibling: of.Scope}
	if p.Erased(pr) {
		in.OwnFloor = NoOwn
		f.Erase()
	}
	t.Follows, of.Scope, in.Scope = fi, fi, fi
	p.insertPair(ref)
	return ref, r
}

// TouchThread marks the record of a thread as out of date in the store.
func (p *State) TouchThread(ti uint32) {
	if _, known := p.DirtyThreads[ti]; !known {
		p.DirtyThreads[ti] = struct{}{}
		p.MarkedBytes += 64
	}
}

// Newest returns the thread's newest live reply above the purge floor, or 0.
func (t *Thread) Newest(floor uint32) uint32 {
	if s := max(t.Live.Max(), t.Casts.Max()); s > floor {
		return s
	}
	return 0
}

// Gone reports whether no panel lists the thread: its root was deleted, or it has no live reply.
func (t *Thread) Gone(c *Channel) bool {
	return t.Flags&ThreadGone != 0 || t.Newest(c.Floor) == 0
}

// Ended reports whether the thread cannot be followed: its root was deleted, or its root was purged
// and no reply is left.
func (p *State) Ended(c *Channel, t *Thread) bool {
	root, gone := p.RootOf(c, t)
	return gone || (root != 0 && root <= c.Floor && t.Newest(c.Floor) == 0)
}

// FollowFrom returns the seq after which replies count for the user; false if they do not follow
// the thread.
func (p *State) FollowFrom(c *Channel, f *Follow) (from uint32, is bool) {
	if f.Flags&FollowExplicit != 0 {
		from, is = f.Closed-1, true
		if f.Closed == 0 {
			from = p.SeqBefore(c, f.ExplicitTime, f.ExplicitHorizon, f.ExplicitNow)
		}
	}
	if f.Auto != 0 && f.Flags&FollowStopped == 0 && (!is || f.Auto-1 < from) {
		from, is = f.Auto-1, true
	}
	return from, is
}

// CloseFollow stores the start of an explicit follow once no message can change it, so that it is
// computed only once.
func (p *State) CloseFollow(c *Channel, f *Follow) {
	if f.Flags&FollowExplicit != 0 && f.Closed == 0 && c.HeadSeq > 0 && (c.Time > f.ExplicitTime || c.LogTime > f.ExplicitHorizon) {
		f.Closed = p.SeqBefore(c, f.ExplicitTime, f.ExplicitHorizon, f.ExplicitNow) + 1
	}
}

// Previous returns the message before e in the chain of the user's own posts in the row's scope.
func Previous(e *history.Entry, r *Row) uint32 {
	if r.Flags&RowThread != 0 {
		return e.PrevIn
	}
	return e.PrevOwn
}

// InScope reports whether a single read in the row's scope can name this message.
func (p *State) InScope(c *Channel, r *Row, x history.Indexed) bool {
	if r.Flags&RowThread == 0 {
		return x.Flags&(history.Reply|history.Broadcast) != history.Reply
	}
	if x.Flags&(history.Reply|history.Broadcast) != history.Reply {
		return false
	}
	e := p.EntryAt(c, x.Seq)
	return p.InThread(p.Threads.At(p.FollowOf(r).Thread), &e)
}

// InThread reports whether an entry of the log is a reply in a thread.
func (p *State) InThread(t *Thread, e *history.Entry) bool {
	return e.InThread(p.Blobs.Get(t.ID), t.First)
}

// ThreadOfEntry returns the thread of a reply, or 0.
func (p *State) ThreadOfEntry(ci uint32, c *Channel, e *history.Entry) uint32 {
	if !e.Trimmed || e.Flags&history.Silent != 0 {
		return p.ThreadOf(ci, e.Thread)
	}
	return p.threadWhere(c, func(t *Thread) bool { return t.First == e.First })
}

// ThreadOfRoot returns the thread whose root is a message, or 0. A trimmed message has no id, so
// for those it looks at all threads of the channel.
func (p *State) ThreadOfRoot(ci uint32, c *Channel, e *history.Entry) uint32 {
	if !e.Trimmed {
		ti := p.ThreadOf(ci, e.ID)
		if ti == 0 {
			return 0
		}
		p.RefreshRoot(c, p.Threads.At(ti))
		if p.Threads.At(ti).Root != e.Seq {
			return 0
		}
		return ti
	}
	return p.threadWhere(c, func(t *Thread) bool { return t.Root == e.Seq })
}

func (p *State) threadWhere(c *Channel, is func(*Thread) bool) uint32 {
	x := p.ExtraOf(c)
	if x == nil {
		return 0
	}
	for ti := x.Threads; ti != 0; ti = p.Threads.At(ti).Next {
		if is(p.Threads.At(ti)) {
			return ti
		}
	}
	return 0
}
