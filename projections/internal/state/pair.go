package state

import (
	"slices"
)

// PendingEvent is one event, or one message of a messages_read, that is kept.
type PendingEvent struct {
	Kind    uint8  // KindRead, KindSingle, KindMark; deliveries: KindDelivered, KindDeliveredTo, KindQueued
	By      uint8  // how the target is named
	HeadBy  uint8  // marks: how the head is named; ByTime if it is not
	Closed  bool   // reads, singles: seq is final. Marks: seq is the message's
	Head    bool   // marks: HeadSeq is final
	Use     uint8  // of the open reads: what for, see ForOthers
	Offset  int64  // of the event's record
	At      int64  // occurred_at
	Horizon int64  // log time after which it does not apply to new messages (7 days past the event)
	Now     int64  // log time of chat.reads at the event, for the index
	Time    int64  // ByTime: the target
	Seq     uint32 // once closed; before that of BySeq, and of marks by an id the seq that they name as well
	HeadSeq uint32
	ID      []byte // ByID
	HeadID  []byte

	Sought, SoughtHead Sought // of id and HeadID; not stored
}

// Kinds of events that wait.
const (
	KindRead = iota + 1
	KindSingle
	KindMark
	KindDelivered
	KindDeliveredTo
	KindQueued
	KindHidden      // of messages_hidden, one message; with the open reads
	KindViewed      // of messages_viewed, one message; with the open reads
	KindWithThreads // of a read_up_to with_threads, in a thread: its target, behind a mark that is held
)

// What an open read is for, in Use.
const (
	ForOthers  = 1 << iota // a public read: a receipt
	ForFar                 // it is effective for the own pointer
	ForThreads             // it reads the channel's threads too
)

// Ways to name a target.
const (
	ByID = iota + 1
	BySeq
	ByTime
)

// HeadVal is the time or seq that names a mark's head.
func (h *PendingEvent) HeadVal() int64 {
	if h.HeadBy == BySeq {
		return h.Time
	}
	return h.At
}

// WaitsForSeq reports whether a mark is held that may be provisional.
func (x *PairExtra) WaitsForSeq() bool {
	return slices.ContainsFunc(x.Unsettled, func(h PendingEvent) bool { return h.Kind == KindMark && !h.Closed && h.By == ByID && h.Seq != 0 })
}

// Sought is what is remembered of an id that an event waits for.
type Sought struct {
	Head uint32 // up to which there is no message that the id names; 0 = nobody looked
	// expired says that there is a message with the id, and the event is too late for it. Then it
	// does not wait: of what else comes with this id it means only what is not after the log time
	// of its own topic (DESIGN §4.6). That bounds it by times alone, so that it is the same in
	// every interleaving.
	Expired bool
}

// ExpiredID reports whether the event names an expired message by its id, and nothing else yet.
func (h *PendingEvent) ExpiredID() bool {
	return (!h.Closed && h.Sought.Expired) || (h.Kind == KindMark && !h.Head && h.SoughtHead.Expired)
}

// OpenInTime reports whether a time target is held that may still reach messages. In a small
// channel each message that it reaches is told. In a large one it is told when it closes, whatever
// was told before.
func (x *PairExtra) OpenInTime() bool {
	return slices.ContainsFunc(x.Unsettled, func(h PendingEvent) bool { return h.Kind == KindRead && h.By == ByTime && !h.Closed })
}

// FloorSpec is the head of an applied mark that is still open: by time (own posts at or before it
// are below the floor) or by seq.
type FloorSpec struct {
	By      uint8
	Val     int64 // time, or seq
	Horizon int64
}

// NoOwn as a row's OwnFloor says that its user was erased: no own post lifts the pointer, for good.
// It is above all seqs, and floors of marks say nothing beside it.
const NoOwn = ^uint32(0)

// Erased reports whether the row's user was erased in its channel.
func (r *Row) Erased() bool { return r.OwnFloor == NoOwn }

// EpochEnded reports whether a mark has ended the epoch that a read states, so that the read is
// stale. A read that states none, 0, never is.
func (r *Row) EpochEnded(epoch uint32) bool { return epoch != 0 && epoch < r.Marks+1 }

// Erase forgets what the user said of a thread; nothing is automatic any more, as after an unfollow
// by word.
func (f *Follow) Erase() {
	f.Flags = FollowStopped
	f.ExplicitTime, f.ExplicitHorizon, f.ExplicitAt, f.Closed = 0, 0, 0, 0
}

// Idle reports whether a guest's row says nothing: then it has no record.
func (r *Row) Idle() bool {
	return r.Flags&(RowMember|RowMuted) == 0 && r.Baseline == 0 && r.Pointer == 0 && r.At == 0 && r.Event == 0 &&
		r.LastOwn == 0 && r.OwnFloor == 0 && r.Marks == 0 && r.LastR == 0 && r.LastD == 0 && r.Public == 0 && r.Far == 0
}

// OpenTo is the earliest time of the open reads for a use that name a time: what they reach is the
// head.
func (x *PairExtra) OpenTo(use uint8) (earliest int64, ok bool) {
	if x == nil {
		return 0, false
	}
	for i := range x.OpenReads {
		if h := &x.OpenReads[i]; h.Use&use != 0 && h.By == ByTime && (!ok || h.At < earliest) {
			earliest, ok = h.At, true
		}
	}
	return earliest, ok
}

// Spent reports whether own posts that are kept in memory are of no use to the row any more.
func (x *PairExtra) Spent(r *Row) bool { return x.ownSpent(r) || x.readsSpent() }

func (x *PairExtra) ownSpent(r *Row) bool { return x.OwnKept && r.LastOwn <= r.Pointer }

func (x *PairExtra) readsSpent() bool {
	return x.Read != nil && x.Read.Kept != nil && len(x.Unsettled) == 0
}

// Forget gives back what is Spent.
func (x *PairExtra) Forget(r *Row) {
	if x.ownSpent(r) {
		x.Own, x.OwnKept = nil, false
	}
	if x.readsSpent() {
		x.Read.Kept = nil
	}
}

// Holds reports whether there are events of the user that are not in the base yet.
func (x *PairExtra) Holds() bool { return x != nil && len(x.Unsettled)+len(x.Floors) > 0 }

// Waits reports whether anything of it can change with the log time alone.
func (x *PairExtra) Waits() bool {
	return x != nil && len(x.Unsettled)+len(x.Floors)+len(x.OpenReads)+len(x.WaitingDeliveries) > 0
}

// Peek loads what questions to it look at first.
func (x *PairExtra) Peek() uint64 {
	return x.Mentions.Peek() + x.Singles.Peek() +
		uint64(len(x.Unsettled)+len(x.Floors)+len(x.OpenReads)+len(x.WaitingDeliveries))
}

// Void is the outcome of an event that is not alive on arrival.
func (h *PendingEvent) Void() Outcome {
	if h.ExpiredID() {
		return OutcomeExpiredID
	}
	return OutcomeIgnored
}

// Idle is the outcome of an event that is or was held and moved nothing.
func (h *PendingEvent) Idle() Outcome {
	switch {
	case h.ExpiredID():
		return OutcomeExpiredID
	case !h.Closed && h.By != ByTime, h.Kind == KindMark && !h.Head && h.HeadBy == ByID:
		return OutcomeWaiting
	}
	return OutcomeDuplicate
}
