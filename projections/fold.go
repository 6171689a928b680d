package projections

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// What the rules do with an event is in the package rules. One goroutine calls the methods of this
// file; it holds Lock where they say so.

// FoldMessage folds the record of chat.messages at offset (DESIGN §4.1); timestamp is the record's,
// in Unix milliseconds. The caller holds Lock.
func (p *Partition) FoldMessage(m *events.Message, offset, timestamp int64) state.Outcome {
	return p.rules.FoldMessage(m, offset, timestamp)
}

// FoldRead folds the record of chat.reads at offset (DESIGN §4.3); timestamp is the record's, in
// Unix milliseconds. The caller holds Lock.
func (p *Partition) FoldRead(m *events.Read, offset, timestamp int64) state.Outcome {
	return p.rules.FoldRead(m, offset, timestamp)
}

// FoldDelivery folds the record of chat.deliveries at offset (DESIGN §4.2, §4.5); timestamp is the
// record's, in Unix milliseconds. The caller holds Lock.
func (p *Partition) FoldDelivery(m *events.Delivery, offset, timestamp int64) state.Outcome {
	return p.rules.FoldDelivery(m, offset, timestamp)
}

// Warm touches the memory that folding these events will need, so that the cache misses of many
// events overlap. It changes nothing and may be left out. The caller holds Lock, and passes what it
// folds next, some hundred events at a time: more than that falls out of the cache again.
func (p *Partition) Warm(messages []*events.Message, reads []*events.Read) {
	p.rules.Warm(messages, reads)
}

// Skip moves the position of one input to next without folding: bad records, control records,
// compacted gaps. Going back is ignored.
func (p *Partition) Skip(in events.Input, next int64) { p.rules.Skip(in, next) }

// Quiet turns publishing off for everything that is folded from here on, or on again. While it is
// on, Drain is called with nil, and marks that only a record would need are left out. It changes
// nothing else and may be left out. Everything must have been drained. The caller holds Lock.
func (p *Partition) Quiet(on bool) { p.rules.Quiet(on) }

// Position is how far the inputs have been folded.
func (p *Partition) Position() Position { return p.rules.Position() }

// LogTime is the partition's log time (DESIGN §2) in Unix milliseconds, 0 before the first message.
func (p *Partition) LogTime() int64 { return p.rules.LogTime() }

// Err is the first corruption or I/O error that was met. A partition with an error answers nothing
// that can be trusted and cuts nothing.
func (p *Partition) Err() error { return p.rules.Err() }

// Digest is the order-independent hash over all records at the last Cut (DESIGN §5): equal for
// equal state.
func (p *Partition) Digest() [16]byte { return p.rules.Digest() }

// Undrained is how many pairs Drain(d, false) has to look at: one event that lets many users join
// lists as many.
func (p *Partition) Undrained() int { return p.rules.Undrained() }

// DirtyBytes estimates what the next Cut will write.
func (p *Partition) DirtyBytes() int64 { return p.rules.DirtyBytes() }

// RareCut is how many bytes may be dirty, as DirtyBytes counts them, where nobody needs a recent
// store or waits for what a cut locks. It is a share of what is in memory: a cut writes a page for
// each channel that changed, so the more channels there are, the longer it takes until an event
// costs less than a page of its own. With 5 million pairs a cut for each 32 MiB costs three times
// what all else does.
func (p *Partition) RareCut() int64 { return p.rules.RareCut() }

// FollowsTime reports whether a read of a user in a channel is up to a time that messages may still
// come before: with each of them the user's pointer moves. The caller holds RLock.
func (p *Partition) FollowsTime(userID, channelID string) bool {
	return p.rules.FollowsTime(userID, channelID)
}
