package batches

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/bits"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// headerBytes is the length of a record batch before its records.
const headerBytes = 61

// Offsets in the header of a record batch.
const (
	atLength     = 8 // length of what follows it
	afterLength  = 12
	atEpoch      = 12 // of the leader, which the broker sets
	atMagic      = 16
	atSum        = 17
	atAttributes = 21 // the checksum covers the rest from here
	atLast       = 23 // offset of the last record in the batch
	atFirstTime  = 27
	atMaxTime    = 35
	atProducer   = 43
	atVersion    = 51 // epoch of the producer
	atSequence   = 53
	atCount      = 57
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is a record batch that is being filled. The zero value is empty.
type Batch struct {
	buf   []byte       // the header and the records, not compressed
	zip   bytes.Buffer // for the compressor
	short []byte       // the header and the compressed records
	whole []byte       // what Seal returned
	count int32
	first int64 // time of the first record, in milliseconds
	last  int64 // the latest time
}

// Reset empties the batch. It keeps its memory.
func (b *Batch) Reset() {
	b.buf, b.whole, b.count = b.buf[:0], nil, 0
}

// Grow makes room for a batch of a size, not compressed, so that it need not grow record by record.
func (b *Batch) Grow(size int) { b.buf = slices.Grow(b.buf[:0], size) }

// Len returns the number of records.
func (b *Batch) Len() int32 { return b.count }

// Size returns the length of the batch, not compressed.
func (b *Batch) Size() int { return max(len(b.buf), headerBytes) }

// Records returns the length of the records alone, not compressed.
func (b *Batch) Records() int { return b.Size() - headerBytes }

// Fits reports whether a batch with the record is at most limit bytes long. The first record always
// fits: the broker decides whether it is too large.
func (b *Batch) Fits(r *kgo.Record, limit int) bool {
	return b.count == 0 || len(b.buf)+2*binary.MaxVarintLen32+bodyLen(r, 0, b.count) <= limit
}

// Append adds a record with a time in milliseconds. It copies key, value and headers.
func (b *Batch) Append(r *kgo.Record, now int64) {
	if b.count == 0 {
		b.first, b.last = now, now
		if cap(b.buf) < headerBytes {
			b.buf = make([]byte, 0, 4096)
		}
		b.buf = b.buf[:headerBytes]
	}
	b.last = max(b.last, now)
	delta := now - b.first
	o := binary.AppendVarint(b.buf, int64(bodyLen(r, delta, b.count)))
	o = append(o, 0) // attributes
	o = binary.AppendVarint(o, delta)
	o = binary.AppendVarint(o, int64(b.count))
	o = appendBytes(o, r.Key)
	o = appendBytes(o, r.Value)
	o = binary.AppendVarint(o, int64(len(r.Headers)))
	for i := range r.Headers {
		o = binary.AppendVarint(o, int64(len(r.Headers[i].Key)))
		o = append(o, r.Headers[i].Key...)
		o = appendBytes(o, r.Headers[i].Value)
	}
	b.buf = o
	b.count++
}

// Producer is an idempotent producer.
type Producer struct {
	ID    int64
	Epoch int16
}

// Seal completes the batch and returns its bytes, which stay valid until Reset. Records are
// compressed if that makes them smaller; compressor may be nil. A sealed batch takes no more
// records.
func (b *Batch) Seal(p Producer, sequence int32, compressor kgo.Compressor) []byte {
	whole, codec := b.buf, kgo.CodecNone
	if compressor != nil {
		b.zip.Reset()
		if zipped, c := compressor.Compress(&b.zip, b.buf[headerBytes:]); c > kgo.CodecNone && len(zipped) < b.Records() {
			b.short = append(append(b.short[:0], b.buf[:headerBytes]...), zipped...)
			whole, codec = b.short, c
		}
	}
	clear(whole[:atLength]) // the broker sets the offset
	be := binary.BigEndian
	be.PutUint32(whole[atLength:], uint32(len(whole)-afterLength))
	be.PutUint32(whole[atEpoch:], math.MaxUint32)
	whole[atMagic] = 2
	be.PutUint16(whole[atAttributes:], uint16(codec))
	be.PutUint32(whole[atLast:], uint32(b.count-1))
	be.PutUint64(whole[atFirstTime:], uint64(b.first))
	be.PutUint64(whole[atMaxTime:], uint64(b.last))
	be.PutUint64(whole[atProducer:], uint64(p.ID))
	be.PutUint16(whole[atVersion:], uint16(p.Epoch))
	be.PutUint32(whole[atSequence:], uint32(sequence))
	be.PutUint32(whole[atCount:], uint32(b.count))
	be.PutUint32(whole[atSum:], crc32.Checksum(whole[atAttributes:], castagnoli))
	b.whole = whole
	return whole
}

// Sealed returns what Seal returned, or nil.
func (b *Batch) Sealed() []byte { return b.whole }

// Compressed returns the length of the records of a sealed batch as they are sent.
func (b *Batch) Compressed() int { return len(b.whole) - headerBytes }

// Codec returns how the records of a sealed batch are compressed.
func (b *Batch) Codec() uint8 { return b.whole[atAttributes+1] }

// NextSequence returns the sequence number of the batch after one of count records.
func NextSequence(sequence, count int32) int32 {
	return int32((int64(sequence) + int64(count)) & math.MaxInt32)
}

// bodyLen returns the length of a record without the length itself.
func bodyLen(r *kgo.Record, delta int64, index int32) int {
	n := 1 + varLen(delta) + varLen(int64(index)) + bytesLen(r.Key) + bytesLen(r.Value) + varLen(int64(len(r.Headers)))
	for i := range r.Headers {
		n += varLen(int64(len(r.Headers[i].Key))) + len(r.Headers[i].Key) + bytesLen(r.Headers[i].Value)
	}
	return n
}

func bytesLen(b []byte) int {
	if b == nil {
		return 1
	}
	return varLen(int64(len(b))) + len(b)
}

func appendBytes(to, b []byte) []byte {
	if b == nil {
		return append(to, 1) // the length -1
	}
	return append(binary.AppendVarint(to, int64(len(b))), b...)
}

// varLen returns the length of a varint.
func varLen(v int64) int {
	zigzag := uint64(v<<1) ^ uint64(v>>63)
	return (bits.Len64(zigzag|1) + 6) / 7
}
