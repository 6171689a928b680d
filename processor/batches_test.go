package processor

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/events"
)

// encodeBatch is a record batch as a broker stores it.
func encodeBatch(t testing.TB, codec kgo.CompressionCodec, records []*kgo.Record) []byte {
	t.Helper()
	first := records[0]
	var all []byte
	for _, r := range records {
		one := kmsg.Record{TimestampDelta64: millisOf(r) - millisOf(first), OffsetDelta: int32(r.Offset - first.Offset), Key: r.Key, Value: r.Value}
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
		FirstTimestamp: millisOf(first), MaxTimestamp: millisOf(last), NumRecords: int32(len(records)), ProducerID: -1, ProducerEpoch: -1,
		FirstSequence: -1, Records: all}
	return sealBatch(b.AppendTo(nil))
}

// sealBatch sets the length and the checksum of a batch.
func sealBatch(b []byte) []byte {
	binary.BigEndian.PutUint32(b[batchLengthAt:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// emptyBatch is what compaction leaves of a batch of which it has taken all records.
func emptyBatch(from, next int64) []byte {
	b := kmsg.RecordBatch{FirstOffset: from, Magic: 2, LastOffsetDelta: int32(next - 1 - from), ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1}
	return sealBatch(b.AppendTo(nil))
}

// randomBatches is a log in batches of all sizes, and its records.
func randomBatches(t testing.TB, r *rand.Rand, codec kgo.CompressionCodec, n int) (batches [][]byte, records []*kgo.Record) {
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
		batches = append(batches, encodeBatch(t, codec, records[from:]))
	}
	return batches, records
}

func sameRecord(a, b *kgo.Record) bool {
	same := a.Offset == b.Offset && bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value) && a.Timestamp.Equal(b.Timestamp) &&
		len(a.Headers) == len(b.Headers)
	for i := 0; same && i < len(a.Headers); i++ {
		same = a.Headers[i].Key == b.Headers[i].Key && bytes.Equal(a.Headers[i].Value, b.Headers[i].Value)
	}
	return same
}

var logOfTest = source{"chat.reads", 3}

// TestBatchesAreDecodedAsTheyAreHandedOut: whatever the batches' sizes, their compression, and the pieces they come in, the
// records that are picked are those of the log, from the offset on that is wanted, and stay so until the next pick.
func TestBatchesAreDecodedAsTheyAreHandedOut(t *testing.T) {
	for name, codec := range map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()} {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 2))
			batches, want := randomBatches(t, r, codec, 6000)
			at := r.IntN(900) // in the middle of a batch, mostly
			m := newMerger(0)
			m.streams[events.Reads].next = int64(at)
			end := int64(len(want))
			in, out := int64(0), int64(0)
			for len(batches) > 0 || m.any() {
				if n := min(r.IntN(4), len(batches)); n > 0 {
					piece := bytes.Join(batches[:n], nil)
					_, next, err := wholeBatches(piece)
					if err != nil {
						t.Fatal(err)
					}
					m.addBatches(events.Reads, logOfTest, piece, next, end)
					batches, in = batches[n:], in+int64(len(piece))
				}
				picked, _ := m.pick(time.UnixMilli(1), nil, 1+r.IntN(256))
				for _, it := range picked {
					if !sameRecord(it.rec, want[at]) || it.rec.Topic != logOfTest.topic || it.rec.Partition != logOfTest.partition {
						t.Fatalf("after %d records: %+v, want %+v", at, it.rec, want[at])
					}
					at++
				}
				taken, err := m.taken()
				if err != nil {
					t.Fatal(err)
				}
				out += taken[events.Reads]
			}
			if at != len(want) || m.streams[events.Reads].next != end {
				t.Errorf("%d of %d records were picked, the next is %d", at, len(want), m.streams[events.Reads].next)
			}
			if in != out {
				t.Errorf("%d bytes came in and %d were accounted for", in, out)
			}
		})
	}
}

// TestDecodingUsesItsMemoryAgain: what a batch is decoded into is that of one before, and hardly anything is new.
func TestDecodingUsesItsMemoryAgain(t *testing.T) {
	_, records := randomBatches(t, rand.New(rand.NewPCG(1, 1)), kgo.NoCompression(), 500)
	for _, r := range records {
		r.Headers = nil // which are new for each record
	}
	one := encodeBatch(t, kgo.Lz4Compression(), records[:500])
	d := newBatchDecoder()
	decode := func() {
		got, memory, _, err := d.next(&chunk{batches: one, of: logOfTest})
		if err != nil || len(got) != 500 {
			t.Fatalf("%d records, %v", len(got), err)
		}
		d.leave(memory)
		d.reuse()
	}
	decode()
	before := d.free[0]
	if n := testing.AllocsPerRun(20, decode); n > 15 {
		t.Errorf("%v allocations for a batch of 500 records", n)
	}
	if len(d.free) != 1 || d.free[0] != before {
		t.Errorf("%d memories, of which the first is that of the beginning: %v", len(d.free), d.free[0] == before)
	}
}

// TestEmptyBatchBeforeTheClientsRecords: all bytes that came in are accounted for where a batch without records is followed
// by what the client's consumer has fetched. An input whose bytes are not would be paused for good.
func TestEmptyBatchBeforeTheClientsRecords(t *testing.T) {
	_, records := randomBatches(t, rand.New(rand.NewPCG(1, 1)), kgo.NoCompression(), 20)
	batches := append(encodeBatch(t, kgo.Lz4Compression(), records[:5]), emptyBatch(5, 9)...)
	in := int64(len(batches))
	for _, r := range records[9:] {
		in += recordBytes(r)
	}
	m := newMerger(0)
	m.addBatches(events.Reads, logOfTest, batches, 9, int64(len(records)))
	m.add(events.Reads, slices.Clone(records[9:]), int64(len(records)))
	picked, _ := m.pick(time.UnixMilli(1), nil, len(records))
	taken, err := m.taken()
	if want := len(records) - 4; len(picked) != want || err != nil {
		t.Errorf("%d records, want %d, %v", len(picked), want, err)
	}
	if out := taken[events.Reads]; in != out {
		t.Errorf("%d bytes came in and %d were accounted for", in, out)
	}
}

// TestBatchThatCannotBeRead: what comes before it is handed out, and it is said which it is. None is left out without a word.
func TestBatchThatCannotBeRead(t *testing.T) {
	const delta, count = batchDeltaAt, batchHeader - 4 // where the last offset is, and the number of records
	for name, spoil := range map[string]func(b []byte){
		"a bit of its records":     func(b []byte) { b[len(b)-1] ^= 1 },
		"a bit of its last offset": func(b []byte) { b[delta] ^= 0x80 },
		"a record is missing":      func(b []byte) { b[delta+3]++; b[count+3]++; sealBatch(b) },
	} {
		t.Run(name, func(t *testing.T) { cannotBeRead(t, spoil) })
	}
}

func cannotBeRead(t *testing.T, spoil func(batch []byte)) {
	batches, _ := randomBatches(t, rand.New(rand.NewPCG(7, 7)), kgo.Lz4Compression(), 2000)
	_, good, _ := batchAt(batches[0])
	spoil(batches[1])
	piece := bytes.Join(batches, nil)
	_, next, err := wholeBatches(piece)
	if err != nil {
		t.Fatal(err)
	}
	m := newMerger(0)
	m.addBatches(events.Reads, logOfTest, piece, next, next)
	for n := int64(0); ; {
		picked, _ := m.pick(time.UnixMilli(1), nil, 256)
		n += int64(len(picked))
		_, err := m.taken()
		if err == nil && n < good {
			continue
		}
		if want := fmt.Sprintf("chat.reads/3 at offset %d cannot be fetched", good); err == nil || !strings.Contains(err.Error(), want) || n != good {
			t.Errorf("after %d records of %d that are good: %v", n, good, err)
		}
		return
	}
}

// FuzzBatches: nothing that a broker may send is more than an error.
func FuzzBatches(f *testing.F) {
	batches, _ := randomBatches(f, rand.New(rand.NewPCG(7, 7)), kgo.Lz4Compression(), 40)
	f.Add(bytes.Join(batches, nil))
	f.Add([]byte{})
	f.Add(make([]byte, 70))
	f.Fuzz(func(t *testing.T, b []byte) {
		whole, next, err := wholeBatches(b)
		if err != nil {
			return
		}
		if !bytes.HasPrefix(b, whole) || len(whole) > 0 && len(whole) < batchHeader {
			t.Fatalf("%d bytes of %d", len(whole), len(b))
		}
		m := newMerger(0)
		m.addBatches(events.Reads, logOfTest, whole, next, next)
		for m.any() {
			m.pick(time.UnixMilli(1), nil, 256)
		}
		if _, err := m.taken(); err == nil && m.streams[events.Reads].atHand() {
			t.Fatal("there is more")
		}
	})
}
