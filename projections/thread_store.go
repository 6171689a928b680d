package projections

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// appendFollower encodes who follows what: user id, 0x00, thread id.
func (p *Partition) appendFollower(b []byte, r *row) []byte {
	b = append(append(b, p.userID(r.user)...), 0)
	return append(b, p.blobs.get(p.threads[p.follows.at(r.scope).thread].id)...)
}

// cutThreads encodes the threads and the follows that are dirty.
func (p *Partition) cutThreads() {
	var kb [keyBuf]byte
	for ti := range p.dirtyThreads {
		t := p.threads[ti]
		channel, id := p.blobs.get(p.chans.at(t.ch).id), p.blobs.get(t.id)
		p.cutSet(&t.live, channel, hotReplies, id)
		p.cutSet(&t.casts, channel, hotBroadcasts, id)
		p.cutSet(&t.alls, channel, hotThreadAlls, id)
		p.scratch = p.scratch[:0]
		if t.first != 0 { // else only reads name it, and what there is to know of its root is in the log
			p.scratch = append(p.scratch, t.flags&thGone)
			p.scratch = binary.AppendUvarint(p.scratch, uint64(t.root))
			p.scratch = binary.AppendUvarint(p.scratch, uint64(t.first))
		}
		p.replace(append(appendHot(kb[:0], channel, hotThread), id...), p.scratch)
	}
	for ref := range p.dirtyFollows {
		r := p.rows.at(ref)
		key := p.appendFollower(appendHot(kb[:0], p.blobs.get(p.chans.at(r.ch).id), hotFollow), r)
		p.scratch = p.scratch[:0]
		if f := p.follows.at(r.scope); !p.idleFollow(r, f) {
			p.scratch = appendFollow(p.scratch, f)
			p.scratch = appendRow(p.scratch, r)
		}
		p.replace(key, p.scratch)
	}
	clear(p.dirtyThreads)
	clear(p.dirtyFollows)
}

// appendFollow encodes a follow; the times of one by word only if there is one.
func appendFollow(b []byte, f *follow) []byte {
	b = append(b, f.flags)
	b = binary.AppendUvarint(b, uint64(f.auto))
	if f.flags&foWord != 0 {
		b = binary.AppendVarint(b, f.wordTime)
		b = binary.AppendVarint(b, f.wordHorizon)
		b = binary.AppendVarint(b, f.wordAt)
	}
	return b
}

func (r *reader) follow(f *follow) {
	f.flags, f.auto = r.byte(), r.u32()
	if f.flags&foWord != 0 {
		f.wordTime, f.wordHorizon, f.wordAt = r.varint(), r.varint(), r.varint()
	}
}

// loadThreadRecord loads the records of threads.
func (p *Partition) loadThreadRecord(ci uint32, kind byte, rest, val []byte) error {
	switch kind {
	case hotThread:
		t := p.threads[p.loadThread(ci, rest)]
		r := reader{b: val}
		t.flags, t.root, t.first = r.byte(), r.u32(), r.u32()
		return r.done()
	case hotReplies, hotBroadcasts, hotThreadAlls:
		id, hi, err := cutHi(rest)
		if err != nil {
			return err
		}
		t := p.threads[p.loadThread(ci, id)]
		return map[byte]*seqset{hotReplies: &t.live, hotBroadcasts: &t.casts, hotThreadAlls: &t.alls}[kind].decode(hi, val)
	case hotFollow:
		_, r, err := p.loadFollower(ci, rest)
		if err != nil {
			return err
		}
		rd := reader{b: val}
		rd.follow(p.follows.at(r.scope))
		rd.row(r)
		return rd.done()
	case hotThreadHeld:
		_, r, err := p.loadFollower(ci, rest)
		if err != nil {
			return err
		}
		return p.ensureExc(r).decodeHeld(val)
	case hotThreadOpen:
		_, r, err := p.loadFollower(ci, rest)
		if err != nil {
			return err
		}
		rd := reader{b: val}
		p.ensureExc(r).open = rd.events()
		return rd.done()
	case hotThreadMentions, hotThreadSingles:
		who, hi, err := cutHi(rest)
		if err != nil {
			return err
		}
		_, r, err := p.loadFollower(ci, who)
		if err != nil {
			return err
		}
		x := p.ensureExc(r)
		return map[byte]*seqset{hotThreadMentions: &x.mentions, hotThreadSingles: &x.singles}[kind].decode(hi, val)
	}
	return fmt.Errorf("unknown kind %q", kind)
}

// cutHi takes the high half of the seqs off the end of a set's key.
func cutHi(rest []byte) (id []byte, hi uint16, err error) {
	n := len(rest) - 3
	if n <= 0 || rest[n] != 0 {
		return nil, 0, errors.New("malformed key")
	}
	return rest[:n], binary.BigEndian.Uint16(rest[n+1:]), nil
}

func (p *Partition) loadThread(ci uint32, id []byte) uint32 {
	if ti := p.threadOf(ci, id); ti != 0 {
		return ti
	}
	return p.makeThread(ci, p.chans.at(ci), id)
}

func (p *Partition) loadFollower(ci uint32, who []byte) (uint32, *row, error) {
	user, id, ok := bytes.Cut(who, []byte{0})
	if !ok || len(user) == 0 || len(id) == 0 {
		return 0, nil, errors.New("malformed key")
	}
	pair, _ := p.ensureRow(ci, p.ensureUser(user))
	ref, r := p.ensureThreadRow(p.loadThread(ci, id), pair)
	return ref, r, nil
}

// loadedFollow takes for told what a row in a thread shows at the start, but for what an open time target reached.
func (p *Partition) loadedFollow(r *row) {
	c := p.chans.at(r.ch)
	f := p.follows.at(r.scope)
	if f.flags&foUnfollowed == 0 && p.rows.at(f.pair).erased() { // it has no record, and was made before that of the pair was read
		r.floorH, f.flags = noOwn, foUnfollowed
	}
	if x := p.excOf(r); x != nil && x.openInTime() {
		f.seen = seenUnknown
		return
	}
	p.closeFollow(c, f)
	f.seen = p.threadSignature(c, r)
}

// deleteThreads forgets the threads of a channel that is deleted; their records go with those of the channel. Whoever was
// told anything of one is told that it is gone.
func (p *Partition) deleteThreads(c *channel) {
	x := p.extOf(c)
	if x == nil {
		return
	}
	for ti := x.threads; ti != 0; ti = p.threads[ti].next {
		t := p.threads[ti]
		*t = thread{ch: t.ch, id: t.id, next: t.next, follows: t.follows, flags: thGone | t.flags&thListed}
		delete(p.dirtyThreads, ti)
		for fi := t.follows; fi != 0; {
			f := p.follows.at(fi)
			fi = f.next
			*f = follow{thread: f.thread, pair: f.pair, row: f.row, next: f.next, sibling: f.sibling, seen: f.seen}
			p.emitCheck(f.row)
		}
	}
}
