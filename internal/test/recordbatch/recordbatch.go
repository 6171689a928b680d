// Package recordbatch makes record batches as brokers store them, for tests of decoders.
package recordbatch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Encode returns a record batch as a broker stores it.
func Encode(t testing.TB, codec kgo.CompressionCodec, records []*kgo.Record) []byte {
	t.Helper()
	first := records[0]
	var all []byte
	for _, r := range records {
		one := kmsg.Record{TimestampDelta64: r.Timestamp.UnixMilli() - first.Timestamp.UnixMilli(), OffsetDelta: int32(r.Offset - first.Offset), Key: r.Key, Value: r.Value}
		for _, h := range r.Headers {
			one.Headers = append(one.Headers, kmsg.Header{Key: h.Key, Value: h.Value})
		}
		one.Length = int32(len(one.AppendTo(nil)) - 1) // a length of 0 has one byte
		all = one.AppendTo(all)
	}
	compressor, err := kgo.DefaultCompressor(codec)
	if err != nil {
		t.Fatal(err)
	}
	var kind kgo.CompressionCodecType
	if compressor != nil {
		all, kind = compressor.Compress(new(bytes.Buffer), all)
	}
	last := records[len(records)-1]
	b := kmsg.RecordBatch{FirstOffset: first.Offset, Magic: 2, Attributes: int16(kind), LastOffsetDelta: int32(last.Offset - first.Offset),
		FirstTimestamp: first.Timestamp.UnixMilli(), MaxTimestamp: last.Timestamp.UnixMilli(), NumRecords: int32(len(records)), ProducerID: -1, ProducerEpoch: -1,
		FirstSequence: -1, Records: all}
	return Seal(b.AppendTo(nil))
}

// Seal sets the length and the checksum of a batch.
func Seal(b []byte) []byte {
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// Empty returns what compaction leaves of a batch after it has removed all records.
func Empty(from, next int64) []byte {
	b := kmsg.RecordBatch{FirstOffset: from, Magic: 2, LastOffsetDelta: int32(next - 1 - from), ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1}
	return Seal(b.AppendTo(nil))
}

// Random returns a log in batches of all sizes, and its records.
func Random(t testing.TB, r *rand.Rand, codec kgo.CompressionCodec, n int) (batches [][]byte, records []*kgo.Record) {
	t.Helper()
	for len(records) < n {
		from := len(records)
		for range 1 + r.IntN([]int{2, 30, 700}[r.IntN(3)]) {
			at := len(records)
			rec := &kgo.Record{Offset: int64(at), Key: fmt.Appendf(nil, "key-%d", at), Timestamp: time.UnixMilli(int64(1000 + at)),
				Value: bytes.Repeat(fmt.Appendf(nil, "value %d;", at), 1+r.IntN(20))}
			if r.IntN(10) == 0 {
				rec.Headers = []kgo.RecordHeader{{Key: "h", Value: fmt.Appendf(nil, "%d", at)}}
			}
			records = append(records, rec)
		}
		batches = append(batches, Encode(t, codec, records[from:]))
	}
	return batches, records
}
