package held

// Event is one held or waiting event, or one message of a messages_read.
type Event struct {
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

// The values of Event.Kind.
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

// Bits of Event.Use.
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
func (h *Event) HeadVal() int64 {
	if h.HeadBy == BySeq {
		return h.Time
	}
	return h.At
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
func (h *Event) ExpiredID() bool {
	return (!h.Closed && h.Sought.Expired) || (h.Kind == KindMark && !h.Head && h.SoughtHead.Expired)
}

// Floor is the open head of an applied mark: by time (own posts at or before it are below the
// floor) or by seq.
type Floor struct {
	By      uint8
	Val     int64 // a time or a seq
	Horizon int64
	Now     int64 // only if the log ends and By is ByTime: log time of chat.reads at the mark
}

// Floor returns the head of a mark as a floor. ends is Settings.TrimLog.
func (h *Event) Floor(ends bool) Floor {
	f := Floor{By: h.HeadBy, Val: h.HeadVal(), Horizon: h.Horizon}
	if ends && f.By == ByTime {
		f.Now = h.Now
	}
	return f
}
