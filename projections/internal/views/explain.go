package views

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/rules"
	"github.com/tidemark/tidemark/projections/internal/seqset"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// MaxExplained is the number of message ids that an explanation lists.
const MaxExplained = 1000

// Explain lists the messages behind the unread number of a pair, and counts the messages above the
// pointer that do not count. It returns false as View does. It counts again from the log, apart
// from rules.CountsOf, which computes the number itself. Its cost is proportional to the number of
// messages above the pointer. Err has the error of a corrupt store. The caller holds RLock, and the
// store must not be closed meanwhile.
func (p *Queries) Explain(userID, channelID string) (Explanation, bool) {
	return explained(p.BeginExplain(userID, channelID))
}

// ExplainThread lists the replies behind the unread number of a user in a thread, and counts the
// other messages of the thread above the pointer. It returns false as Thread does. Replies before
// the follow are counted with those before the join. Its cost is proportional to the number of
// messages of the channel above the pointer. RLock as for Explain.
func (p *Queries) ExplainThread(userID, channelID, threadID string) (Explanation, bool) {
	return explained(p.BeginExplainThread(userID, channelID, threadID))
}

func explained(w *ExplainWalk, ok bool) (Explanation, bool) {
	if !ok {
		return Explanation{}, false
	}
	x, _ := w.End(context.Background()) // Err has the error
	return x, true
}

// ExplainWalk is an answer of Explain or ExplainThread in progress. Its End reads the messages
// above the pointer.
type ExplainWalk struct {
	x   Explanation
	m   *moment // nil: the answer is complete
	log *channelLog
	err error

	ptr, floor, baseline uint32 // in a thread, baseline is the start of the follow if that is later than the join
	singles              *seqset.Set
	hidden               *state.Hidden // nil: none
	own                  []uint32      // own posts above the pointer, ascending, unless End has to read them
	lastOwn              uint32        // the newest own post, if End has to read them

	uncounted, deleted *seqset.Set // sets of the channel
	inThread           bool
	threadID           []byte
	firstReply         uint32 // the thread's
}

// BeginExplain is the part of Explain that reads memory. It must be followed by one call of End,
// after RLock is released; End reads the store. The answer is of the position at which BeginExplain
// was called. The caller holds RLock.
func (p *Queries) BeginExplain(userID, channelID string) (*ExplainWalk, bool) {
	ci, c, ok := p.rules.KnownChannel(channelID)
	if !ok {
		return nil, false
	}
	r := p.rules.PairOrNone(ci, userID)
	s := p.rules.PointerOf(c, r)
	w := &ExplainWalk{baseline: r.Baseline, uncounted: &rules.NoSingles, deleted: &rules.NoSingles}
	left := r.Flags&state.RowMember == 0 && r.Ord() != state.NoOrdinal // nothing is unread, and nothing is left out
	w.begin(p, c, r, &s, !left)
	return w, true
}

// BeginExplainThread is to ExplainThread what BeginExplain is to Explain.
func (p *Queries) BeginExplainThread(userID, channelID, threadID string) (*ExplainWalk, bool) {
	ci, c, ok := p.rules.KnownChannel(channelID)
	if !ok {
		return nil, false
	}
	ti, u := p.rules.ThreadOf(ci, []byte(threadID)), p.rules.UserOf([]byte(userID))
	ref := uint32(0)
	if ti != 0 && u != 0 {
		ref = p.rules.ThreadRowOf(ti, u)
	}
	if ref == 0 {
		return &ExplainWalk{}, true
	}
	r := p.rules.Rows.At(ref)
	s := p.rules.ThreadScopeWith(c, r, p.rules.PointerOf(c, r))
	from, _ := p.rules.FollowFrom(c, s.Follow)
	w := &ExplainWalk{baseline: max(s.Pair.Baseline, from), inThread: true, threadID: []byte(threadID), firstReply: s.Thread.First}
	w.begin(p, c, r, &s.Scope, s.Counts)
	return w, true
}

// begin copies everything that the answer depends on and that may change. Unless counts is set,
// there is nothing above the pointer to explain.
func (w *ExplainWalk) begin(p *Queries, c *state.Channel, r *state.Row, s *rules.Scope, counts bool) {
	if s.Pointer > 0 {
		w.x.Pointer, w.x.PointerAt = Ref{p.messageID(c, s.Pointer), s.Pointer}, s.At
		w.x.Event = p.eventOf(c, s)
	}
	if !counts || s.Pointer >= c.HeadSeq {
		return
	}
	w.ptr, w.floor, w.singles = s.Pointer, c.Floor, s.Singles.Clone()
	if h := p.rules.HiddenOf(r); h != nil {
		w.hidden = h.Clone()
	}
	if r.LastOwn > s.Pointer {
		if own, kept := p.rules.KeptOwn(r, s.Pointer); kept {
			w.own = slices.Clone(own)
		} else {
			w.lastOwn = r.LastOwn
		}
	}
	if x := p.rules.ExtraOf(c); !w.inThread && x != nil {
		w.uncounted, w.deleted = x.Uncounted.Clone(), x.Deleted.Clone()
	}
	// This must be the last step: a moment must be ended, and after a panic nobody would end it.
	w.m, w.log, w.err = p.logOf(c, s.Pointer+1)
}

// End reads the messages above the pointer, and completes the answer. Call it once, without the
// partition's lock. It fails as ReceiptsWalk.End does.
func (w *ExplainWalk) End(ctx context.Context) (Explanation, error) {
	if w.err != nil {
		return Explanation{}, w.err
	}
	if w.m == nil {
		return w.x, nil
	}
	err := w.m.read(ctx, func() error {
		if err := w.walk(ctx); err != nil {
			return fmt.Errorf("explaining a number: %w", err)
		}
		return nil
	})
	if err != nil {
		return Explanation{}, err
	}
	return w.x, nil
}

func (w *ExplainWalk) walk(ctx context.Context) error {
	if err := w.readOwn(ctx); err != nil {
		return err
	}
	if w.inThread {
		return w.replies(ctx)
	}
	return w.messages(ctx)
}

// readOwn reads the own posts above the pointer from the log.
func (w *ExplainWalk) readOwn(ctx context.Context) error {
	for q := w.lastOwn; q > w.ptr; {
		w.own = append(w.own, q)
		e, err := w.log.entry(ctx, q)
		if err != nil {
			return err
		}
		if q = e.PrevOwn; w.inThread {
			q = e.PrevIn
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
	if w.baseline > at {
		w.x.Excluded.BeforeJoin, at = w.baseline-at, w.baseline
	}
	if seed := w.log.seed; seed > at {
		gone := w.deleted.Rank(seed) - w.deleted.Rank(at)
		w.x.Excluded.Deleted += gone
		hidden := uint32(0)
		if w.hidden != nil && w.hidden.To > at { // nothing else can hide messages without ids
			to := min(w.hidden.To, seed)
			hidden = to - at - (w.deleted.Rank(to) - w.deleted.Rank(at))
		}
		w.x.Excluded.Hidden += hidden
		w.x.Unread += seed - at - gone - hidden
		w.x.Unnamed += seed - at - gone - hidden
		at = seed
	}
	for q := at + 1; q <= w.log.head; q++ {
		if err := w.m.checkStopped(ctx); err != nil {
			return err
		}
		var err error
		switch {
		case w.uncounted.Contains(q):
			err = w.notCounted(ctx, q)
		case w.deleted.Contains(q):
			w.x.Excluded.Deleted++
		default:
			err = w.beyondPointer(ctx, q)
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
	case e.Flags&history.Deleted != 0:
		w.x.Excluded.Deleted++
	case e.Flags&history.Silent != 0:
		w.x.Excluded.Silent++
	default:
		w.x.Excluded.Thread++
	}
	return err
}

// replies explains a thread's number.
func (w *ExplainWalk) replies(ctx context.Context) error {
	for q := max(w.ptr, w.log.seed) + 1; q <= w.log.head; q++ {
		e, err := w.log.entry(ctx, q)
		if err != nil {
			return err
		}
		if !e.InThread(w.threadID, w.firstReply) {
			continue
		}
		switch {
		case q <= w.floor:
			w.x.Excluded.Deleted++
		case q <= w.baseline:
			w.x.Excluded.BeforeJoin++
		case e.Flags&history.Deleted != 0:
			w.x.Excluded.Deleted++
		case e.Flags&history.Silent != 0:
			w.x.Excluded.Silent++
		case e.Flags&history.Broadcast != 0:
			w.x.Excluded.Thread++ // it counts in the channel
		default:
			err = w.beyondPointer(ctx, q)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// beyondPointer explains a message that counts for members of its scope. It is unread, unless this
// user posted it, hid it or read it singly.
func (w *ExplainWalk) beyondPointer(ctx context.Context, seq uint32) error {
	switch {
	case w.isOwn(seq):
		w.x.Excluded.Own++
	case w.hidden.Has(seq):
		w.x.Excluded.Hidden++
	case w.singles.Contains(seq):
		w.x.Excluded.ReadSingly++
	default:
		return w.unread(ctx, seq)
	}
	return nil
}

func (w *ExplainWalk) unread(ctx context.Context, seq uint32) error {
	w.x.Unread++
	id, err := w.log.messageID(ctx, seq)
	switch {
	case err != nil:
	case id == "":
		w.x.Unnamed++
	case len(w.x.MessageIDs) < MaxExplained:
		w.x.MessageIDs = append(w.x.MessageIDs, id)
	default:
		w.x.More = true
	}
	return err
}
