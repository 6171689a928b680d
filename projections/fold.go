package projections

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/warming"
)

// Package rules implements the effects of events. One goroutine calls the methods of this file;
// each comment states where it must hold Lock.

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
// events overlap. Warm changes nothing and may be left out. The caller holds Lock, and passes the
// events that it folds next, a few hundred at a time: more would push the first ones out of the
// cache again.
func (p *Partition) Warm(messages []*events.Message, reads []*events.Read) {
	warming.Events(&p.rules.State, messages, reads)
}

// Skip moves the position of one input to next without folding, past bad records, control records
// and compacted gaps. It ignores a next below the position.
func (p *Partition) Skip(in events.Input, next int64) { p.rules.Skip(in, next) }

// Quiet turns publishing off, or on again, for everything that is folded from here on. While
// publishing is off, the caller passes nil to Drain, and the fold leaves out marks that only
// published records need. Quiet changes nothing else and may be left out. Everything must have been
// drained. The caller holds Lock.
func (p *Partition) Quiet(on bool) { p.rules.Quiet(on) }

// Position returns how far the inputs have been folded.
func (p *Partition) Position() Position { return p.rules.Position() }

// LogTime returns the partition's log time (DESIGN §2) in Unix milliseconds, 0 before the first
// message.
func (p *Partition) LogTime() int64 { return p.rules.LogTime() }

// Err returns the first corruption or I/O error. After an error a partition's answers cannot be
// trusted, and it makes no more cuts.
func (p *Partition) Err() error { return p.rules.Err() }

// Digest returns the order-independent hash over all records at the last Cut (DESIGN §5). Equal
// state has equal digests.
func (p *Partition) Digest() [16]byte { return p.rules.Digest() }

// Undrained returns about how many pairs the next Drain(d, fanout) processes. It counts a pair twice
// that is listed and in a fan-out. One event that lets many users join lists as many pairs.
func (p *Partition) Undrained(fanout bool) int { return p.rules.Undrained(fanout) }

// DirtyBytes estimates what the next Cut will write.
func (p *Partition) DirtyBytes() int64 { return p.rules.DirtyBytes() }

// RareCut returns how many bytes may be dirty, as DirtyBytes counts them, when nobody needs a
// recent store or waits for a cut's lock. The limit is a share of the memory in use. A cut writes a
// page for each changed channel, so with more channels it takes more dirty bytes until an event
// costs less than a whole page. With 5 million pairs, a cut for each 32 MiB costs three times as
// much as everything else.
func (p *Partition) RareCut() int64 { return p.rules.RareCut() }

// FollowsTime reports whether the user has a read up to a time that later messages can still fall
// before. Each such message moves the user's pointer. The caller holds RLock.
func (p *Partition) FollowsTime(userID, channelID string) bool {
	return p.rules.FollowsTime(userID, channelID)
}
