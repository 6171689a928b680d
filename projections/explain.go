package projections

import (
	"bytes"
	"context"
	"fmt"
	"slices"
)

// maxExplained is the number of message ids that an explanation lists.
const maxExplained = 1000

// Explain says which messages are behind the unread number of a pair, and what above the pointer does not count; false
// as in View. Its cost is proportional to the number of messages above the pointer. The error of a corrupt store is Err. RLock
// is held, and the store is not closed meanwhile.
func (p *Partition) Explain(userID, channelID string) (Explanation, bool) {
	return explained(p.BeginExplain(userID, channelID))
}

// ExplainThread says which replies are behind the unread number of a user in a thread, and which other messages of the
// thread above the pointer do not count; false as in Thread. Before the follow counts as before the join. Its cost is
// proportional to the number of messages of the channel above the pointer. RLock is as for Explain.
func (p *Partition) ExplainThread(userID, channelID, threadID string) (Explanation, bool) {
	return explained(p.BeginExplainThread(userID, channelID, threadID))
}

func explained(w *ExplainWalk, ok bool) (Explanation, bool) {
	if !ok {
		return Explanation{}, false
	}
	x, _ := w.End(context.Background()) // the error is Err's
	return x, true
}

// ExplainWalk is an answer of Explain or ExplainThread that is not complete: the messages above the pointer were not looked
// at yet.
type ExplainWalk struct {
	x   Explanation
	m   *moment // nil: it is complete
	log *channelLog
	err error

	ptr, floor, base uint32 // of a thread, base is where the follow begins if that is later than the join
	singles          *seqset
	own              []uint32 // own posts above the pointer, ascending, unless they are to be read
	lastOwn          uint32   // the newest own post, if they are

	uncounted, deleted *seqset // of the channel
	inThread           bool
	threadID           []byte
}

// BeginExplain is the part of Explain that looks at memory. What is stored is read by End, which must be called, once, when
// RLock is not held any more; its answer is of the position at which this was called. RLock is held.
func (p *Partition) BeginExplain(userID, channelID string) (*ExplainWalk, bool) {
	ci, c, ok := p.known(channelID)
	if !ok {
		return nil, false
	}
	r := p.pairOrNone(ci, userID)
	s := p.pointerOf(c, r)
	w := &ExplainWalk{base: r.base, uncounted: &noSingles, deleted: &noSingles}
	left := r.flags&rowMember == 0 && r.ord != noOrdinal // nothing is unread, and nothing is left out
	w.begin(p, c, r, &s, !left)
	if x := p.extOf(c); w.m != nil && x != nil {
		w.uncounted, w.deleted = x.uncounted.clone(), x.deleted.clone()
	}
	return w, true
}

// BeginExplainThread is to ExplainThread what BeginExplain is to Explain.
func (p *Partition) BeginExplainThread(userID, channelID, threadID string) (*ExplainWalk, bool) {
	ci, c, ok := p.known(channelID)
	if !ok {
		return nil, false
	}
	ti, u := p.threadOf(ci, []byte(threadID)), p.userOf([]byte(userID))
	ref := uint32(0)
	if ti != 0 && u != 0 {
		ref = p.threadRowOf(ti, u)
	}
	if ref == 0 {
		return &ExplainWalk{}, true
	}
	r := p.rows.at(ref)
	s := p.threadScopeWith(c, r, p.pointerOf(c, r))
	from, _ := p.followFrom(c, s.f)
	w := &ExplainWalk{base: max(s.pair.base, from), inThread: true, threadID: []byte(threadID)}
	w.begin(p, c, r, &s.scope, s.counts)
	return w, true
}

// begin notes what the answer depends on and may change. Only if counts is set there is anything above the pointer.
func (w *ExplainWalk) begin(p *Partition, c *channel, r *row, s *scope, counts bool) {
	if s.ptr > 0 {
		w.x.Pointer, w.x.PointerAt = Ref{p.messageID(c, s.ptr), s.ptr}, s.at
		w.x.Event = p.eventOf(c, s)
	}
	if !counts || s.ptr >= c.headSeq {
		return
	}
	w.ptr, w.floor, w.singles = s.ptr, c.floor, s.singles.clone()
	if r.lastOwn > s.ptr {
		if own, kept := p.keptOwn(r, s.ptr); kept {
			w.own = slices.Clone(own)
		} else {
			w.lastOwn = r.lastOwn
		}
	}
	if w.m, w.err = p.moment(c); w.err == nil {
		w.log = w.m.logFrom(c, s.ptr+1)
	}
}

// End looks at the messages above the pointer, and completes the answer. It is called once, without the partition's lock, and
// fails as ReceiptsWalk.End does.
func (w *ExplainWalk) End(ctx context.Context) (Explanation, error) {
	if w.err != nil {
		return Explanation{}, w.err
	}
	if w.m == nil {
		return w.x, nil
	}
	err := w.readOwn(ctx)
	if err == nil && w.inThread {
		err = w.replies(ctx)
	} else if err == nil {
		err = w.messages(ctx)
	}
	if err != nil {
		err = fmt.Errorf("explaining a number: %w", err)
	}
	if err = w.m.end(ctx, err); err != nil {
		return Explanation{}, err
	}
	return w.x, nil
}

// readOwn reads the own posts above the pointer off the log.
func (w *ExplainWalk) readOwn(ctx context.Context) error {
	for q := w.lastOwn; q > w.ptr; {
		w.own = append(w.own, q)
		e, err := w.log.entry(ctx, q)
		if err != nil {
			return err
		}
		if q = e.prevOwn; w.inThread {
			q = e.prevIn
		}
	}
	slices.Sort(w.own)
	return nil
}

func (w *ExplainWalk) isOwn(seq uint32) bool {
	_, ok := slices.BinarySearch(w.own, seq)
	return ok
}

// messages explains a channel's number.
func (w *ExplainWalk) messages(ctx context.Context) error {
	at := w.ptr
	if w.floor > at {
		w.x.Excluded.Deleted, at = w.floor-at, w.floor
	}
	if w.base > at {
		w.x.Excluded.BeforeJoin, at = w.base-at, w.base
	}
	for q := at + 1; q <= w.log.head; q++ {
		if err := w.m.goOn(ctx); err != nil {
			return err
		}
		var err error
		switch {
		case w.uncounted.contains(q):
			err = w.notCounted(ctx, q)
		case w.deleted.contains(q):
			w.x.Excluded.Deleted++
		case w.isOwn(q):
			w.x.Excluded.Own++
		case w.singles.contains(q):
			w.x.Excluded.ReadSingly++
		default:
			err = w.unread(ctx, q)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// notCounted finds the reason why a message of the uncounted set does not count.
func (w *ExplainWalk) notCounted(ctx context.Context, seq uint32) error {
	e, err := w.log.entry(ctx, seq)
	switch {
	case err != nil:
	case e.flags&entDeleted != 0:
		w.x.Excluded.Deleted++
	case e.flags&entSilent != 0:
		w.x.Excluded.Silent++
	default:
		w.x.Excluded.Thread++
	}
	return err
}

// replies explains a thread's number.
func (w *ExplainWalk) replies(ctx context.Context) error {
	for q := w.ptr + 1; q <= w.log.head; q++ {
		e, err := w.log.entry(ctx, q)
		if err != nil {
			return err
		}
		if e.flags&entReply == 0 || !bytes.Equal(e.thread, w.threadID) {
			continue
		}
		switch {
		case q <= w.floor:
			w.x.Excluded.Deleted++
		case q <= w.base:
			w.x.Excluded.BeforeJoin++
		case e.flags&entDeleted != 0:
			w.x.Excluded.Deleted++
		case e.flags&entSilent != 0:
			w.x.Excluded.Silent++
		case e.flags&entBroadcast != 0:
			w.x.Excluded.Thread++ // counts in the channel
		case w.isOwn(q):
			w.x.Excluded.Own++
		case w.singles.contains(q):
			w.x.Excluded.ReadSingly++
		default:
			err = w.unread(ctx, q)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *ExplainWalk) unread(ctx context.Context, seq uint32) error {
	w.x.Unread++
	if len(w.x.MessageIDs) == maxExplained {
		w.x.More = true
		return nil
	}
	id, err := w.log.messageID(ctx, seq)
	w.x.MessageIDs = append(w.x.MessageIDs, id)
	return err
}
