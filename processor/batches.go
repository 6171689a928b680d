package processor

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Record batches that are decoded by who folds them, one at a time and into memory that is used again. A client's poll
// makes records of a whole answer, long before they are folded: three hundred bytes of new memory for a record of a
// hundred, that have left the caches when their turn comes. The decoding itself is the client's, too.

// source is the log that batches are of.
type source struct {
	topic     string
	partition int32
}

// chunk is what one fetch brought: records, or batches that are not decoded yet.
type chunk struct {
	records []*kgo.Record
	batches []byte // whole ones, of format 2
	of      source
	from    int64 // records before this offset are known
}

// Where things are in a record batch of format 2, in bytes from its start.
const (
	batchLengthAt = 8  // of what follows the length: int32
	batchFormatAt = 16 // int8
	batchDeltaAt  = 23 // from the first offset to the last: int32
	batchHeader   = 61
)

// batchAt is the length of the batch that b begins with and the offset after it; 0 if it is not there as a whole. ok is
// false if it is of another format than 2.
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

// batchMemory is what the records of one batch are decoded into.
type batchMemory struct {
	records []kgo.Record
	bytes   []byte
}

// maxFreeMemory is how much memory of decoded batches is kept, in batches. While the batches are of usual size some three
// are looked at; of very small ones it may be a hundred, and what is new for each of them is little.
const maxFreeMemory = 8

// batchDecoder decodes batches. It is used by one goroutine. To the client it is the pool of what it decodes into, for one
// batch after the other: nothing is given back record by record.
type batchDecoder struct {
	pools   []kgo.Pool
	inner   kgo.Decompressor
	now     *batchMemory // of the decoding that is under way
	largest int          // bytes of a decompressed batch, so far

	free []*batchMemory
	left []*batchMemory // records of it may still be looked at
}

func newBatchDecoder() *batchDecoder {
	d := &batchDecoder{}
	d.pools = []kgo.Pool{d}
	d.inner = kgo.DefaultDecompressor(d)
	return d
}

// next decodes the first batch of c.batches and takes it off. It returns what of it is not known, in memory that is to be
// left when the records are handed out, and the length of the batch.
func (d *batchDecoder) next(c *chunk) (records []*kgo.Record, memory *batchMemory, length int, err error) {
	length, next, ok := batchAt(c.batches)
	if !ok || length == 0 {
		return nil, nil, len(c.batches), d.failed(c, errors.New("there is no whole record batch where one should begin"))
	}
	batch := c.batches[:length]
	c.batches = c.batches[length:]
	d.now = d.take(length)
	opts := kgo.ProcessFetchPartitionOpts{KeepControlRecords: true, Offset: c.from, Topic: c.of.topic, Partition: c.of.partition,
		Pools: d.pools}
	answer := kmsg.FetchResponseTopicPartition{Partition: c.of.partition, RecordBatches: batch}
	got, at := kgo.ProcessFetchPartition(opts, &answer, d.inner, func(m kgo.FetchBatchMetrics) {
		d.largest = max(d.largest, m.UncompressedBytes)
	})
	switch {
	case got.Err != nil:
		return nil, d.now, length, d.failed(c, got.Err)
	case at < next: // the client would ask for the rest again
		return nil, d.now, length, d.failed(c, errors.New("not all records that their batch counts can be read"))
	}
	c.from = at
	return got.Records, d.now, length, nil
}

func (d *batchDecoder) failed(c *chunk, err error) error {
	return passing{fmt.Errorf("%s/%d at offset %d cannot be fetched: %w", c.of.topic, c.of.partition, c.from, err)}
}

// take finds memory that nobody looks at, for a batch of so many bytes as it was sent.
func (d *batchDecoder) take(length int) *batchMemory {
	m := &batchMemory{}
	if n := len(d.free); n > 0 {
		m, d.free = d.free[n-1], d.free[:n-1]
	}
	// The client grows what is too small. It asks for some more than it fills.
	if need := min(d.largest, 16*length) + 1024; cap(m.bytes) < need {
		m.bytes = make([]byte, 0, need)
	}
	return m
}

// leave says that no more records of m will be handed out.
func (d *batchDecoder) leave(m *batchMemory) { d.left = append(d.left, m) }

// reuse says that nobody looks any more at records whose memory was left.
func (d *batchDecoder) reuse() {
	d.free = append(d.free, d.left[:min(len(d.left), maxFreeMemory-len(d.free))]...)
	clear(d.left)
	d.left = d.left[:0]
}

// GetRecords, GetDecompressBytes and their counterparts are those of the client's pools.

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
