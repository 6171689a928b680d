package sequence

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/view"
)

const (
	// maxPending limits the messages of a channel that wait for a seq. More are dropped, and the
	// members get fresh inboxes instead.
	maxPending = 2048
	// maxAnchors limits the records that wait for their messages. Those in the middle are dropped:
	// they only decide how messages are grouped.
	maxAnchors = 64
	// rememberedIDs is how many ids of a channel are kept to detect a message that was written
	// twice.
	rememberedIDs = 32
)

// Sequencer assigns seqs to the messages of one channel.
//
// A message has no seq before the fold assigns one. So a message of chat.messages waits for a
// record of tidemark.channels whose stamp includes it. By then the fold has processed the message,
// and its seq follows from the record's head.
type Sequencer struct {
	Record   *events.ChannelRecord // the newest, without its lists; nil: none yet
	Timeline events.Timeline       // of record
	Latest   view.Head
	LatestAt uint32 // position of Latest

	seenNext int64     // offset after the newest message event that was read
	pending  []Message // in order of their offsets
	anchors  []anchor  // records that have not assigned seqs yet
	base     anchor    // the newest record that has
	recent   []string  // ids that got a seq recently
	lost     bool      // pending overflowed
}

// anchor states that the channel's head was at seq when the events before offset m had been folded.
type anchor struct {
	m   int64
	seq uint32
}

// Message is a message with or without a seq.
type Message struct {
	Offset                      int64
	ID, Sender, Preview, Thread string
	HiddenFrom                  []string // users from whom it is hidden
	Broadcast                   bool
	At                          int64
	Seq                         uint32
}

// MessageOf copies a message, whose memory belongs to the fetch.
func MessageOf(m *events.Message, offset int64) Message {
	p := Message{
		Offset: offset, ID: string(m.MessageID), Sender: string(m.SenderID), Preview: string(m.Preview),
		Thread: string(m.ThreadID), Broadcast: m.Broadcast, At: m.OccurredAt,
	}
	for _, id := range m.HiddenFrom {
		if string(id) != p.Sender {
			p.HiddenFrom = append(p.HiddenFrom, string(id))
		}
	}
	return p
}

// Post adds a message of chat.messages.
func (q *Sequencer) Post(p Message) {
	if len(q.pending) >= maxPending {
		q.pending, q.lost = nil, true
	}
	q.pending = append(q.pending, p)
}

// Take copies a record of tidemark.channels. It reports whether the record is newer than the last
// one.
func (q *Sequencer) Take(r *events.ChannelRecord) bool {
	if q.Record != nil && q.Record.Stamp.Dominates(r.Stamp) {
		return false
	}
	c := *r
	c.ChannelID = nil
	c.Holes, c.Alls = nil, nil
	q.Latest = view.HeadOf(&r.Latest)
	q.LatestAt = r.Latest.Pos
	c.Latest, c.Labels = events.Head{}, nil
	q.Record, q.Timeline = &c, r.Timeline()
	if len(q.anchors) >= maxAnchors {
		q.anchors = slices.Delete(q.anchors, maxAnchors/2, maxAnchors/2+1)
	}
	q.anchors = append(q.anchors, anchor{m: r.Stamp.M, seq: r.HeadSeq})
	return true
}

// Reach returns the offset in chat.messages up to which the channel's members have received
// everything.
func (q *Sequencer) Reach() int64 {
	if q.Record == nil {
		return 0
	}
	return q.Record.Stamp.M
}

// Settle assigns seqs to the messages whose record has come, and returns these messages in order.
func (q *Sequencer) Settle() []Message {
	var out []Message
	for len(q.anchors) > 0 && q.seenNext >= q.anchors[0].m {
		a := q.anchors[0]
		q.anchors = q.anchors[1:]
		n := 0
		for n < len(q.pending) && q.pending[n].Offset < a.m {
			n++
		}
		group := q.unique(q.pending[:n])
		q.pending = q.pending[n:]
		q.number(group, a)
		q.base = a
		for _, p := range group {
			q.remember(p.ID)
		}
		out = append(out, group...)
	}
	if len(q.anchors) == 0 {
		q.anchors = nil
	}
	if len(q.pending) == 0 {
		q.pending = nil
	}
	return out
}

// number assigns seqs to a group: its last message is the head of the record that includes it. If
// the group is larger than the distance by which the head moved, some of it was written before, so
// long ago that the ids are no longer remembered. Then only the message that the record names gets
// a seq; the others keep 0, unknown.
func (q *Sequencer) number(group []Message, a anchor) {
	n := uint32(len(group))
	certain := n <= a.seq && (q.base.m == 0 || n <= a.seq-min(q.base.seq, a.seq))
	for i := range group {
		switch {
		case certain:
			group[i].Seq = a.seq - n + uint32(i) + 1
		case group[i].ID == q.Latest.ID:
			group[i].Seq = q.Latest.Seq
		}
	}
}

// unique returns list without the messages that were written before.
func (q *Sequencer) unique(list []Message) []Message {
	out := make([]Message, 0, len(list))
	for _, p := range list {
		if slices.Contains(q.recent, p.ID) || slices.ContainsFunc(out, func(o Message) bool { return o.ID == p.ID }) {
			continue
		}
		out = append(out, p)
	}
	return out
}

func (q *Sequencer) remember(id string) {
	if len(q.recent) >= rememberedIDs {
		q.recent = append(q.recent[:0], q.recent[1:]...)
	}
	q.recent = append(q.recent, id)
}

// See records that the events before offset next have been read.
func (q *Sequencer) See(next int64) { q.seenNext = next }

// Overflowed reports once that messages were dropped, so that the members need fresh inboxes.
func (q *Sequencer) Overflowed() bool {
	if !q.lost || len(q.pending) > 0 {
		return false
	}
	q.lost = false
	return true
}

// Restart drops waiting messages and keeps the newest record: after a gap in the feed the messages
// cannot get their seqs.
func (q *Sequencer) Restart() {
	*q = Sequencer{Record: q.Record, Timeline: q.Timeline, Latest: q.Latest, LatestAt: q.LatestAt}
}
