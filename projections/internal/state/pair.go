package state

import (
	"slices"
)

// PendingEvent is one held or waiting event, or one message of a messages_read.
type PendingEvent struct {
	Kind    uint8  // KindRead, KindSingle, KindMark; deliveries: KindDelivered, KindDeliveredTo, KindQueued
	By      uint8  // how the event names its target
	HeadBy  uint8  // marks: how the event names the head; ByTime if it does not
	Closed  bool   // reads and singles: Seq is final. Marks: Seq is the message's
	Head    bool   // marks: HeadSeq is final
	Use     uint8  // only of open reads: their uses, see ForOthers
	Offset  int64  // offset of the event's record
	At      int64  // occurred_at
	Horizon int64  // log time after which the event does not apply to new messages (7 days past the event)
	Now     int64  // log time of chat.reads at the event, for the index
	Time    int64  // ByTime: the target
	Seq     uint32 // the target once closed. Before: the seq of BySeq, or the seq that a mark by id names as well
	HeadSeq uint32
	ID      []byte // ByID
	HeadID  []byte

	Sought, SoughtHead Sought // search state of ID and HeadID; not stored
}

// The values of PendingEvent.Kind.
const (
	KindRead = iota + 1
	KindSingle
	KindMark
	KindDelivered
	KindDeliveredTo
	KindQueued
	KindHidden      // one message of a messages_hidden, among the open reads
	KindViewed      // one message of a messages_viewed, among the open reads
	KindWithThreads // a read_up_to with_threads, in a thread: its target, behind a held mark
)

// Bits of PendingEvent.Use.
const (
	ForOthers  = 1 << iota // a public read: makes a receipt
	ForFar                 // counts for the furthest read ever
	ForThreads             // reads the channel's threads too
	SeqNamed               // only of marks, if the log ends: Seq was found to name its message
)

// Ways to name a target.
const (
	ByID = iota + 1
	BySeq
	ByTime
)

// HeadVal returns the time or seq that names a mark's head.
func (h *PendingEvent) HeadVal() int64 {
	if h.HeadBy == BySeq {
		return h.Time
	}
	return h.At
}

// WaitsForSeq reports whether a held mark may be provisional.
func (x *PairExtra) WaitsForSeq() bool {
	return slices.ContainsFunc(x.Unsettled, func(h PendingEvent) bool { return h.Kind == KindMark && !h.Closed && h.By == ByID && h.Seq != 0 })
}

// Sought is the state of the search for an id that an event waits for.
type Sought struct {
	Head uint32 // no message up to here matches the id; 0 = not searched yet
	// Expired records that a message with the id exists but is too old for the event. The event
	// does not wait for it. Of later messages with this id, the event can name only those that are
	// not after the log time of its own topic (DESIGN §4.6). That limit depends on times only, so
	// it is the same in every interleaving.
	Expired bool
}

// ExpiredID reports whether the event names an expired message by its id, and no other message yet.
func (h *PendingEvent) ExpiredID() bool {
	return (!h.Closed && h.Sought.Expired) || (h.Kind == KindMark && !h.Head && h.SoughtHead.Expired)
}

// OpenInTime reports whether a held time target may still reach messages. In a small channel, each
// message that it reaches is published. In a large channel, a delta is published when the target
// closes, whatever was published before.
func (x *PairExtra) OpenInTime() bool {
	return slices.ContainsFunc(x.Unsettled, func(h PendingEvent) bool { return h.Kind == KindRead && h.By == ByTime && !h.Closed })
}

// FloorSpec is the open head of an applied mark: by time (own posts at or before it are below the
// floor) or by seq.
type FloorSpec struct {
	By      uint8
	Val     int64 // a time or a seq
	Horizon int64
	Now     int64 // only if the log ends and By is ByTime: log time of chat.reads at the mark
}

// Floor returns the head of a mark as a floor. ends is Settings.TrimLog.
func (h *PendingEvent) Floor(ends bool) FloorSpec {
	f := FloorSpec{By: h.HeadBy, Val: h.HeadVal(), Horizon: h.Horizon}
	if ends && f.By == ByTime {
		f.Now = h.Now
	}
	return f
}

// NoOwn as a row's OwnFloor means that its user was erased: no own post ever lifts the pointer
// again. It is above all seqs, so floors of marks have no effect.
const NoOwn = ^uint32(0)

// Erased reports whether the row's user was erased in its channel.
func (r *Row) Erased() bool { return r.OwnFloor == NoOwn }

// EpochEnded reports whether a mark has ended the epoch that a read states, so that the read is
// stale. A read that states no epoch (0) is never stale.
func (r *Row) EpochEnded(epoch uint32) bool { return epoch != 0 && epoch < r.Marks+1 }

// Erase removes what the user did with a thread. As after an explicit unfollow, nothing makes the
// user follow automatically any more.
func (f *Follow) Erase() {
	f.Flags = FollowStopped
	f.ExplicitTime, f.ExplicitHorizon, f.ExplicitAt, f.ExplicitNow, f.Closed = 0, 0, 0, 0, 0
}

// Idle reports whether a guest's row has no content. Such a row has no record.
func (r *Row) Idle() bool {
	return r.Flags&(RowMember|RowMuted) == 0 && r.Baseline == 0 && r.Pointer == 0 && r.At == 0 && r.Event == 0 &&
		r.LastOwn == 0 && r.OwnFloor == 0 && r.Marks == 0 && r.LastR == 0 && r.LastD == 0 && r.Public == 0 && r.Far == 0
}

// OpenTo returns how far the open reads with a time target and all bits of this use reach, and the
// earliest time of those that reach that far, or past if that is not 0.
func (p *State) OpenTo(c *Channel, x *PairExtra, use uint8, past uint32) (seq uint32, earliest int64, ok bool) {
	if x == nil {
		return 0, 0, false
	}
	for i := range x.OpenReads {
		h := &x.OpenReads[i]
		if h.Use&use != use || h.By != ByTime {
			continue
		}
		to := c.HeadSeq
		switch {
		case to < past:
		case !ok, past == 0 && to > seq:
			seq, earliest, ok = to, h.At, true
		case past != 0 || to == seq:
			seq, earliest = max(seq, to), min(earliest, h.At)
		}
	}
	return seq, earliest, ok
}

// Spent reports whether the row no longer needs own posts that are kept in memory.
func (x *PairExtra) Spent(r *Row) bool { return x.ownSpent(r) || x.readsSpent() }

func (x *PairExtra) ownSpent(r *Row) bool { return x.OwnKept && r.LastOwn <= r.Pointer }

func (x *PairExtra) readsSpent() bool {
	return x.Read != nil && x.Read.Kept != nil && len(x.Unsettled) == 0
}

// Forget drops what Spent reports.
func (x *PairExtra) Forget(r *Row) {
	if x.ownSpent(r) {
		x.Own, x.OwnKept = nil, false
	}
	if x.readsSpent() {
		x.Read.Kept = nil
	}
}

// Holds reports whether some events of the user are not in the base yet.
func (x *PairExtra) Holds() bool { return x != nil && len(x.Unsettled)+len(x.Floors) > 0 }

// Waits reports whether log time alone can change anything in it.
func (x *PairExtra) Waits() bool {
	return x != nil && len(x.Unsettled)+len(x.Floors)+len(x.OpenReads)+len(x.WaitingDeliveries) > 0
}

// Peek loads the memory that its queries read first.
func (x *PairExtra) Peek() uint64 {
	return x.Mentions.Peek() + x.Singles.Peek() +
		uint64(len(x.Unsettled)+len(x.Floors)+len(x.OpenReads)+len(x.WaitingDeliveries))
}

// Void is the outcome of an event that is void on arrival.
func (h *PendingEvent) Void() Outcome {
	if h.ExpiredID() {
		return OutcomeExpiredID
	}
	return OutcomeIgnored
}

// Idle is the outcome of an event that is or was held and changed nothing.
func (h *PendingEvent) Idle() Outcome {
	switch {
	case h.ExpiredID():
		return OutcomeExpiredID
	case !h.Closed && h.By != ByTime, h.Kind == KindMark && !h.Head && h.HeadBy == ByID:
		return OutcomeWaiting
	}
	return OutcomeDuplicate
}
