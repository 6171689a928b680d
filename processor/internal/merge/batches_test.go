package merge

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/inflate"
	"github.com/tidemark/tidemark/internal/test/recordbatch"
)

func sameRecord(a, b *kgo.Record) bool {
	same := a.Offset == b.Offset && bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value) && a.Timestamp.Equal(b.Timestamp) &&
		len(a.Headers) == len(b.Headers)
	for i := 0; same && i < len(a.Headers); i++ {
		same = a.Headers[i].Key == b.Headers[i].Key && bytes.Equal(a.Headers[i].Value, b.Headers[i].Value)
	}
	return same
}

var logOfTest = Source{"chat.reads", 3}

// TestBatchesAreDecodedAsTheyAreHandedOut: whatever the sizes of the batches, their compression,
// and the chunks in which they arrive, Pick returns the records of the log from the wanted offset
// on. They stay valid until the next Pick.
func TestBatchesAreDecodedAsTheyAreHandedOut(t *testing.T) {
	for name, codec := range map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()} {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 2))
			batches, want := recordbatch.Random(t, r, codec, 6000)
			at := r.IntN(900) // usually in the middle of a batch
			m := NewMerger(0)
			m.streams[events.Reads].next = int64(at)
			end := int64(len(want))
			in, out := int64(0), int64(0)
			for len(batches) > 0 || m.Any() {
				if n := min(r.IntN(4), len(batches)); n > 0 {
					piece := bytes.Join(batches[:n], nil)
					_, next, _, err := WholeBatches(piece)
					if err != nil {
						t.Fatal(err)
					}
					m.AddBatches(events.Reads, logOfTest, piece, next, end)
					batches, in = batches[n:], in+int64(len(piece))
				}
				picked, _ := m.Pick(time.UnixMilli(1), nil, 1+r.IntN(256))
				for _, it := range picked {
					if !sameRecord(it.Rec, want[at]) || it.Rec.Topic != logOfTest.Topic || it.Rec.Partition != logOfTest.Partition {
						t.Fatalf("after %d records: %+v, want %+v", at, it.Rec, want[at])
					}
					at++
				}
				taken, err := m.Taken()
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

// TestDecodingUsesItsMemoryAgain: the decoder reuses the memory of earlier batches and hardly
// allocates.
func TestDecodingUsesItsMemoryAgain(t *testing.T) {
	_, records := recordbatch.Random(t, rand.New(rand.NewPCG(1, 1)), kgo.NoCompression(), 500)
	for _, r := range records {
		r.Headers = nil // every record allocates new headers
	}
	one := recordbatch.Encode(t, kgo.Lz4Compression(), records[:500])
	d := newBatchDecoder(inflate.DefaultBatch)
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

// TestEmptyBatchBeforeTheClientsRecords: all received bytes are accounted for if records from the
// client's consumer follow a batch without records. Otherwise the input would be paused forever.
func TestEmptyBatchBeforeTheClientsRecords(t *testing.T) {
	_, records := recordbatch.Random(t, rand.New(rand.NewPCG(1, 1)), kgo.NoCompression(), 20)
	batches := append(recordbatch.Encode(t, kgo.Lz4Compression(), records[:5]), recordbatch.Empty(5, 9)...)
	in := int64(len(batches))
	for _, r := range records[9:] {
		in += RecordBytes(r)
	}
	m := NewMerger(0)
	m.AddBatches(events.Reads, logOfTest, batches, 9, int64(len(records)))
	m.Add(events.Reads, slices.Clone(records[9:]), int64(len(records)))
	picked, _ := m.Pick(time.UnixMilli(1), nil, len(records))
	taken, err := m.Taken()
	if want := len(records) - 4; len(picked) != want || err != nil {
		t.Errorf("%d records, want %d, %v", len(picked), want, err)
	}
	if out := taken[events.Reads]; in != out {
		t.Errorf("%d bytes came in and %d were accounted for", in, out)
	}
}

// TestBatchThatCannotBeRead: Pick returns the records before the batch, and the error names the
// batch. No batch is silently skipped.
func TestBatchThatCannotBeRead(t *testing.T) {
	const delta, count = batchDeltaAt, batchHeader - 4 // places of the last offset and of the number of records
	for name, spoil := range map[string]func(b []byte){
		"a bit of its records":     func(b []byte) { b[len(b)-1] ^= 1 },
		"a bit of its last offset": func(b []byte) { b[delta] ^= 0x80 },
		"a record is missing":      func(b []byte) { b[delta+3]++; b[count+3]++; recordbatch.Seal(b) },
	} {
		t.Run(name, func(t *testing.T) { cannotBeRead(t, spoil) })
	}
}

func cannotBeRead(t *testing.T, spoil func(batch []byte)) {
	batches, _ := recordbatch.Random(t, rand.New(rand.NewPCG(7, 7)), kgo.Lz4Compression(), 2000)
	_, good, _ := batchAt(batches[0])
	spoil(batches[1])
	piece := bytes.Join(batches, nil)
	_, next, _, err := WholeBatches(piece)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMerger(0)
	m.AddBatches(events.Reads, logOfTest, piece, next, next)
	for n := int64(0); ; {
		picked, _ := m.Pick(time.UnixMilli(1), nil, 256)
		n += int64(len(picked))
		_, err := m.Taken()
		if err == nil && n < good {
			continue
		}
		if want := fmt.Sprintf("chat.reads/3 at offset %d cannot be fetched", good); err == nil || !strings.Contains(err.Error(), want) || n != good {
			t.Errorf("after %d records of %d that are good: %v", n, good, err)
		}
		return
	}
}

// FuzzBatches: no bytes from a broker cause more than an error.
func FuzzBatches(f *testing.F) {
	batches, _ := recordbatch.Random(f, rand.New(rand.NewPCG(7, 7)), kgo.Lz4Compression(), 40)
	f.Add(bytes.Join(batches, nil))
	f.Add([]byte{})
	f.Add(make([]byte, 70))
	f.Fuzz(func(t *testing.T, b []byte) {
		whole, next, _, err := WholeBatches(b)
		if err != nil {
			return
		}
		if !bytes.HasPrefix(b, whole) || len(whole) > 0 && len(whole) < batchHeader {
			t.Fatalf("%d bytes of %d", len(whole), len(b))
		}
		m := NewMerger(0)
		m.AddBatches(events.Reads, logOfTest, whole, next, next)
		for m.Any() {
			m.Pick(time.UnixMilli(1), nil, 256)
		}
		if _, err := m.Taken(); err == nil && m.streams[events.Reads].atHand() {
			t.Fatal("there is more")
		}
	})
}

// Pick does not decode many batches at once, even if each is within the limit: the memory that one
// Pick leaves is limited.
func TestAPickDecodesNoMoreThanMemoryAllows(t *testing.T) {
	const size, batch = 1 << 20, 4 << 20
	var log []byte
	for i := range 40 {
		log = append(log, recordbatch.Encode(t, kgo.ZstdCompression(), []*kgo.Record{{Offset: int64(i), Timestamp: time.UnixMilli(1), Value: make([]byte, size)}})...)
	}
	m := NewMerger(0)
	m.Batch = batch
	m.AddBatches(events.Reads, logOfTest, log, 40, 40)
	picked := 0
	for m.Any() {
		items, _ := m.Pick(time.UnixMilli(2), nil, 256)
		if m.decoder.retained > batch+2*size {
			t.Fatalf("%d MiB are held by one pick", m.decoder.retained>>20)
		}
		picked += len(items)
	}
	if picked != 40 {
		t.Errorf("%d records, want 40", picked)
	}
}

// TestIdleMemoryIsGivenUp: memory for decoding stays for a second without batches, and no longer.
func TestIdleMemoryIsGivenUp(t *testing.T) {
	m := NewMerger(0)
	now := time.UnixMilli(1_000_000)
	if at := m.Rest(now); !at.IsZero() {
		t.Errorf("a merge without batches rests at %v", at)
	}
	batches, _ := recordbatch.Random(t, rand.New(rand.NewPCG(1, 1)), kgo.Lz4Compression(), 300)
	log := bytes.Join(batches, nil)
	_, next, _, err := WholeBatches(log)
	if err != nil {
		t.Fatal(err)
	}
	m.AddBatches(events.Reads, logOfTest, log, next, next)
	if at := m.Rest(now); !at.IsZero() {
		t.Errorf("a merge with batches rests at %v", at)
	}
	for m.Any() {
		m.Pick(now, nil, 256)
	}
	for _, after := range []time.Duration{0, idleMemory / 2} {
		if at := m.Rest(now.Add(after)); at != now.Add(idleMemory) || len(m.decoder.free) == 0 {
			t.Errorf("after %v it rests at %v with %d free", after, at, len(m.decoder.free))
		}
	}
	if at := m.Rest(now.Add(idleMemory)); !at.IsZero() || len(m.decoder.free) != 0 {
		t.Errorf("it keeps %d free after %v, and rests at %v", len(m.decoder.free), idleMemory, at)
	}
	m.AddBatches(events.Reads, logOfTest, log, 2*next, 2*next) // it can still decode
	for m.Any() {
		m.Pick(now, nil, 256)
	}
	if _, err := m.Taken(); err != nil {
		t.Error(err)
	}
}
