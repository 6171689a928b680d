package projections

import (
	"bytes"
)

// A thread is a scope of its own (DESIGN §4.4): its replies count, and each user who does anything with it has a row as
// for the channel, with a pointer, single reads, marks and held events. Seqs are those of the channel, so the log, the
// index and the triggers are the channel's. Channels without threads pay nothing for any of it.

// thread is what chat.messages says of one thread. Silent replies are not in it: nobody sees them.
type thread struct {
	ch, id  uint32 // channel, blob
	next    uint32 // next thread of the channel
	follows uint32 // list of its follows, through follow.next
	root    uint32 // the first message with the thread's id, 0 = not posted
	first   uint32 // its first reply
	flags   uint8
	live    seqset // replies that count: live, and not broadcast, which count in the channel
	casts   seqset // live broadcast replies
	alls    seqset // those of live that mention all
}

// thread.flags
const (
	thGone    = 1 << iota // its root was deleted
	thListed              // in Partition.outThreads
	thReplied             // somebody replied since the last drain: all its followers see that
)

// follow is what a thread's row has besides: whether and from where on its user follows the thread. It has no pointers.
//
// As messages come first in the one definition, what follows automatically is the least seq that any of them gives; it
// counts as long as the user never unfollowed. Of several follows by word the earliest counts. A follow by word counts
// replies later than its time, and reaches as far as a time target of a read does: the earliest of several is that with
// the least time and the least horizon, whichever event had which.
type follow struct {
	thread  uint32
	pair    uint32 // the user's row in the channel
	row     uint32 // the user's row in the thread
	next    uint32 // next follow of the thread
	sibling uint32 // next follow of the pair
	auto    uint32 // 1 + the seq after which an automatic follow counts, 0 = none
	closed  uint32 // 1 + the seq after which the follow by word counts, once final: not state, a memory of the log
	flags   uint8

	wordTime    int64  // least time of the follows by word
	wordHorizon int64  // least horizon of them
	wordAt      int64  // latest time of them
	seen        uint64 // hash of what was told last, 0 = nothing: not state
}

// seenUnknown is the hash of nothing that is ever told.
const seenUnknown = 1

// follow.flags
const (
	foWord       = 1 << iota // follows by word
	foUnfollowed             // unfollowed once: nothing is automatic any more
)

func threadHash(ch uint32, id []byte) uint64 { return mix(idHash(id) ^ pairHash(ch, ^uint32(0))) }

// threadOf returns the thread's index, 0 if nothing names it.
func (p *Partition) threadOf(ci uint32, id []byte) uint32 {
	return p.threadTab.find(threadHash(ci, id), func(ref uint32) bool {
		t := p.threads[ref]
		return t.ch == ci && bytes.Equal(p.blobs.get(t.id), id)
	})
}

// makeThread adds a thread of which nothing is known.
func (p *Partition) makeThread(ci uint32, c *channel, id []byte) uint32 {
	x := p.ensureExt(c)
	t := &thread{ch: ci, id: p.blobs.put(id), next: x.threads}
	p.threads = append(p.threads, t)
	ti := uint32(len(p.threads) - 1)
	x.threads = ti
	p.threadTab.insert(threadHash(ci, id), ti)
	return ti
}

// ensureThread returns the thread that a reply or a read names. Its root is the first message that ever had its id,
// whatever its age.
func (p *Partition) ensureThread(ci uint32, c *channel, id []byte) uint32 {
	if ti := p.threadOf(ci, id); ti != 0 {
		return ti
	}
	ti := p.makeThread(ci, c, id)
	p.findRoot(c, p.threads[ti])
	return ti
}

func (p *Partition) findRoot(c *channel, t *thread) {
	id := p.blobs.get(t.id)
	if x, ok := p.lookup(c, id, idHash(id), anyAge); ok {
		t.root = x.seq
		if e := p.entryAt(c, x.seq); e.flags&entDeleted != 0 {
			t.flags |= thGone
		}
	}
}

// threadRowOf returns the row of a user in a thread, 0 if there is none.
func (p *Partition) threadRowOf(ti, user uint32) uint32 {
	return p.pairTab.find(pairHash(^ti, user), func(ref uint32) bool {
		r := p.rows.at(ref)
		return r.user == user && r.flags&rowThread != 0 && p.follows.at(r.scope).thread == ti
	})
}

// ensureThreadRow returns the row in a thread of the user whose row in the channel is pair.
func (p *Partition) ensureThreadRow(ti, pair uint32) (uint32, *row) {
	pr := p.rows.at(pair)
	if ref := p.threadRowOf(ti, pr.user); ref != 0 {
		return ref, p.rows.at(ref)
	}
	t, c := p.threads[ti], p.chans.at(pr.ch)
	ref, fi := p.rows.alloc(), p.follows.alloc()
	r := p.rows.at(ref)
	r.ch, r.user, r.ord, r.flags, r.scope = pr.ch, pr.user, noOrdinal, rowThread, fi
	r.nextRow, c.rows = c.rows, ref
	f := p.follows.at(fi)
	*f = follow{thread: ti, pair: pair, row: ref, next: t.follows, sibling: pr.scope}
	if pr.erased() {
		r.floorH = noOwn
		f.erase()
	}
	t.follows, pr.scope = fi, fi
	p.pairTab.insert(pairHash(^ti, pr.user), ref)
	return ref, r
}

func (p *Partition) touchThread(ti uint32) {
	if _, known := p.dirtyThreads[ti]; !known {
		p.dirtyThreads[ti] = struct{}{}
		p.dirtyBytes += 64
	}
}

// newest is the thread's newest live reply, 0 if there is none.
func (t *thread) newest(floor uint32) uint32 {
	if s := max(t.live.max(), t.casts.max()); s > floor {
		return s
	}
	return 0
}

// gone reports whether the thread is in nobody's panel: its root was deleted, or purged and no reply is left.
func (t *thread) gone(c *channel) bool {
	return t.flags&thGone != 0 || (t.root != 0 && t.root <= c.floor && t.newest(c.floor) == 0)
}

// followFrom is the seq after which replies count for the user; false if he does not follow the thread.
func (p *Partition) followFrom(c *channel, f *follow) (from uint32, is bool) {
	if f.flags&foWord != 0 {
		from, is = f.closed-1, true
		if f.closed == 0 {
			from = p.seqAt(c, f.wordTime, f.wordHorizon)
		}
	}
	if f.auto != 0 && f.flags&foUnfollowed == 0 && (!is || f.auto-1 < from) {
		from, is = f.auto-1, true
	}
	return from, is
}

// closeFollow keeps where a follow by word begins once no message can change it, so that it is looked up once.
func (p *Partition) closeFollow(c *channel, f *follow) {
	if f.flags&foWord != 0 && f.closed == 0 && c.headSeq > 0 && (c.time > f.wordTime || c.logTime > f.wordHorizon) {
		f.closed = p.seqAt(c, f.wordTime, f.wordHorizon) + 1
	}
}

// previous is the message before e in the chain of the user's own posts in the row's scope.
func (e *entry) previous(r *row) uint32 {
	if r.flags&rowThread != 0 {
		return e.prevIn
	}
	return e.prevOwn
}

// inScope reports whether a message can be read singly in the row's scope.
func (p *Partition) inScope(c *channel, r *row, x indexed) bool {
	if r.flags&rowThread == 0 {
		return x.flags&(entReply|entBroadcast) != entReply
	}
	if x.flags&(entReply|entBroadcast) != entReply {
		return false
	}
	e := p.entryAt(c, x.seq)
	return bytes.Equal(e.thread, p.blobs.get(p.threads[p.follows.at(r.scope).thread].id))
}
