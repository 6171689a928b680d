package merge

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/inflate"
	"github.com/tidemark/tidemark/processor/internal/failure"
)

// The folding goroutine decodes record batches one at a time into reused memory. A client's poll
// would decode a whole answer long before its records are folded: each record of a hundred bytes
// would take three hundred bytes of new memory, which leaves the CPU caches before the fold reads
// it. The decoding itself is the client's code.

// Source is the log that batches come from.
type Source struct {
	Topic     string
	Partition int32
}

// chunk is the result of one fetch: records, or undecoded batches.
type chunk struct {
	records []*kgo.Record
	batches []byte // complete batches of format 2
	of      Source
	from    int64 // records before this offset came before
}

// Offsets of fields in a record batch of format 2, in bytes.
const (
	batchLengthAt = 8  // the length of everything after this field: int32
	batchEpochAt  = 12 // the leader's epoch when it wrote the batch: int32
	batchFormatAt = 16 // int8
	batchDeltaAt  = 23 // from the first offset to the last: int32
	batchHeader   = 61
)

// batchAt returns the length of the batch that b begins with and the offset after it, or 0 if the
// batch is incomplete. ok is false if its format is not 2.
func batchAt(b []byte) (length int, next int64, ok bool) {
	if len(b) <= batchFormatAt {
		return 0, 0, true
	}
	if b[batchFormatAt] != 2 {
		return 0, 0, false
	}
	length = int(int32(binary.BigEndian.Uint32(b[batchLengthAt:]))) + batchLengthAt + 4
	if length < batchHeader {
		return 0, 0, false
	}
	if length > len(b) {
		return 0, 0, true
	}
	return length, int64(binary.BigEndian.Uint64(b)) + int64(int32(binary.BigEndian.Uint32(b[batchDeltaAt:]))) + 1, true
}

// batchMemory is the memory into which the records of one batch are decoded.
type batchMemory struct {
	records []kgo.Record
	bytes   []byte
}

// maxFreeMemory is how many decoded batches are kept for reuse. With batches of usual size about
// three are in use; with very small ones it may be a hundred, each of which needs little new
// memory.
const maxFreeMemory = 8

// batchDecoder decodes batches. Only one goroutine uses it. The client uses it as its pool of
// memory; records are not given back one by one.
type batchDecoder struct {
	pools   []kgo.Pool
	inner   kgo.Decompressor
	batch   int          // bytes that one batch may decompress to
	now     *batchMemory // memory of the decoding in progress
	largest int          // bytes of a decompressed batch, so far

	free     []*batchMemory
	decoded  int            // batches so far
	rested   int            // decoded at the last rest
	used     time.Time      // of the last rest since which there was a batch
	left     []*batchMemory // their records may still be in use
	retained int            // size of those, in bytes
}

func newBatchDecoder(batch int) *batchDecoder {
	d := &batchDecoder{batch: batch}
	d.pools = []kgo.Pool{d}
	d.inner = inflate.Pooled(batch, d)
	return d
}

// next decodes and removes the first batch of c.batches. It returns the new records of the batch,
// the memory that holds them (call leave when all are handed out), and the length of the batch.
func (d *batchDecoder) next(c *chunk) (records []*kgo.Record, memory *batchMemory, length int, err error) {
	length, next, ok := batchAt(c.batches)
	if !ok || length == 0 {
		return nil, nil, len(c.batches), d.failed(c, errors.New("no complete record batch begins at this offset"))
	}
	d.decoded++
	batch := c.batches[:length]
	c.batches = c.batches[length:]
	d.now = d.take(length)
	opts := kgo.ProcessFetchPartitionOpts{KeepControlRecords: true, Offset: c.from, Topic: c.of.Topic, Partition: c.of.Partition,
		Pools: d.pools}
	answer := kmsg.FetchResponseTopicPartition{Partition: c.of.Partition, RecordBatches: batch}
	got, at := kgo.ProcessFetchPartition(opts, &answer, d.inner, func(m kgo.FetchBatchMetrics) {
		d.largest = max(d.largest, m.UncompressedBytes)
	})
	switch {
	case got.Err != nil:
		return nil, d.now, length, d.failed(c, got.Err)
	case at < next: // the client would request the rest again
		return nil, d.now, length, d.failed(c, errors.New("a batch has fewer readable records than its header counts"))
	}
	c.from = at
	return got.Records, d.now, length, nil
}

func (d *batchDecoder) failed(c *chunk, err error) error {
	if errors.Is(err, kgo.ErrMaxDecompress) {
		return inflate.InWords(err, d.batch)
	}
	return failure.Passing(fmt.Errorf("%s/%d at offset %d cannot be fetched: %w", c.of.Topic, c.of.Partition, c.from, err))
}

// take finds unused memory for a batch with this many bytes on the wire.
func (d *batchDecoder) take(length int) *batchMemory {
	m := &batchMemory{}
	if n := len(d.free); n > 0 {
		m, d.free = d.free[n-1], d.free[:n-1]
	}
	// The client grows a buffer that is too small. It requests a little more than it fills.
	if need := min(d.largest, 16*length, maxKeptBytes-1024) + 1024; cap(m.bytes) < need {
		m.bytes = make([]byte, 0, need)
	}
	return m
}

// leave marks m: no more of its records will be handed out.
func (d *batchDecoder) leave(m *batchMemory) {
	d.left = append(d.left, m)
	d.retained += cap(m.bytes)
}

// full reports whether the left memory is as large as one batch may be. Then nothing is decoded
// before reuse.
func (d *batchDecoder) full() bool { return d != nil && d.retained > d.batch }

// maxKeptBytes is the size up to which the memory of a batch is reused. Larger memory belonged to
// an unusual batch.
const maxKeptBytes = 4 << 20

// reuse frees the memory that was left, because its records are no longer in use.
func (d *batchDecoder) reuse() {
	for _, m := range d.left {
		if len(d.free) < maxFreeMemory && cap(m.bytes) <= maxKeptBytes {
			d.free = append(d.free, m)
		}
	}
	clear(d.left)
	d.left, d.retained = d.left[:0], 0
}

// idleMemory is how long free memory is kept while there is nothing to decode.
const idleMemory = time.Second

// rest gives up the free memory after a while without batches. It returns when to call it again, or
// zero if no memory is free or there are batches (busy).
func (d *batchDecoder) rest(now time.Time, busy bool) time.Time {
	d.reuse()
	if busy || d.decoded != d.rested {
		d.rested, d.used = d.decoded, now
	}
	switch {
	case busy || len(d.free) == 0:
		return time.Time{}
	case now.Sub(d.used) < idleMemory:
		return d.used.Add(idleMemory)
	}
	clear(d.free)
	d.free = d.free[:0]
	return time.Time{}
}

// GetRecords, GetDecompressBytes and their counterparts implement the client's pools.

func (d *batchDecoder) GetRecords(n int) []kgo.Record {
	if cap(d.now.records) < n {
		d.now.records = make([]kgo.Record, n)
	}
	return d.now.records[:n]
}

func (d *batchDecoder) GetDecompressBytes([]byte, kgo.CompressionCodecType) []byte {
	return d.now.bytes[:0]
}

func (d *batchDecoder) PutRecords([]kgo.Record) {}

func (d *batchDecoder) PutDecompressBytes([]byte) {}

// WholeBatches returns b without an incomplete batch at its end. If there are complete ones, next
// is the offset after the last of them, and epoch the leader epoch in which it was written.
func WholeBatches(b []byte) (whole []byte, next int64, epoch int32, err error) {
	epoch = -1
	for n := 0; ; {
		length, after, ok := batchAt(b[n:])
		if !ok {
			return nil, 0, -1, errors.New("there are records of an old format")
		}
		if length == 0 {
			return b[:n:n], next, epoch, nil
		}
		epoch = int32(binary.BigEndian.Uint32(b[n+batchEpochAt:]))
		n, next = n+length, after
	}
}
