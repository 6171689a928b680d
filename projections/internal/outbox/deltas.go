// Package outbox holds the records of a drain until they are published. It handles topics and
// bytes, and has no notion of channels.
package outbox

import "slices"

// Topic is the output topic of a record.
type Topic uint8

// The output topics (DESIGN §7).
const (
	Unread Topic = iota
	Channels
	Receipts
)

// Record is one record to publish. Its slices are valid until Deltas.Reset.
type Record struct {
	Topic     Topic
	Partition int32
	Key       []byte
	Value     []byte
	UserID    []byte // only for Unread
	ChannelID []byte
	Updated   bool // only for Channels: labels or archived changed, which no delta tells the members
}

// Deltas collects the records of a drain. Reuse it to reuse its memory.
type Deltas struct {
	Records []Record
	chunks  [][]byte // all full, except the last one in use
	used    int      // chunks in use
	recent  int      // a recent peak of used
}

const (
	deltaChunk = 256 << 10
	keptChunks = 32   // that Reset never frees
	perChunk   = 1024 // records in a chunk, about
)

// Reset empties d and makes the slices of its records invalid. It frees memory that the last drains
// have not needed, so that what one burst took is not kept.
func (d *Deltas) Reset() {
	d.recent = max(d.recent-(d.recent+15)/16, d.used+1)
	if keep := max(2*d.recent, keptChunks); len(d.chunks) > 2*keep {
		clear(d.chunks[keep:])
		d.chunks, d.Records = slices.Clip(d.chunks[:keep]), make([]Record, 0, keep*perChunk)
	}
	d.Records = d.Records[:0]
	for i := range d.chunks {
		d.chunks[i] = d.chunks[i][:0]
	}
	d.used = 0
}

// chunkFor returns a chunk with at least n free bytes; chunks never move.
func (d *Deltas) chunkFor(n int) *[]byte {
	for ; d.used < len(d.chunks); d.used++ {
		if c := &d.chunks[d.used]; cap(*c)-len(*c) >= n {
			return c
		}
	}
	d.chunks = append(d.chunks, make([]byte, 0, max(deltaChunk, n)))
	return &d.chunks[d.used]
}

// Keep copies b. The copy is valid until Reset.
func (d *Deltas) Keep(b []byte) []byte {
	c := d.chunkFor(len(b))
	n := len(*c)
	*c = append(*c, b...)
	return (*c)[n:len(*c):len(*c)]
}
