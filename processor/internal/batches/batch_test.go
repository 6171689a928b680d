package batches

import (
	"bytes"
	"encoding/hex"
	"hash/crc32"
	"math"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// decoded returns the records of an encoded batch, as the Kafka client's own decoders read them.
func decoded(t interface {
	Helper()
	Fatalf(string, ...any)
}, encoded []byte) (kmsg.RecordBatch, []kmsg.Record) {
	t.Helper()
	var b kmsg.RecordBatch
	if err := b.ReadFrom(encoded); err != nil {
		t.Fatalf("the batch: %v", err)
	}
	if sum := crc32.Checksum(encoded[21:], crc32.MakeTable(crc32.Castagnoli)); uint32(b.CRC) != sum {
		t.Fatalf("the checksum is %x, want %x", uint32(b.CRC), sum)
	}
	if int(b.Length) != len(encoded)-12 {
		t.Fatalf("the length is %d, want %d", b.Length, len(encoded)-12)
	}
	raw, err := kgo.DefaultDecompressor().Decompress(b.Records, kgo.CompressionCodecType(b.Attributes&7))
	if err != nil {
		t.Fatalf("the records: %v", err)
	}
	var records []kmsg.Record
	for len(raw) > 0 {
		var r kmsg.Record
		if err := r.ReadFrom(raw); err != nil {
			t.Fatalf("record %d: %v", len(records), err)
		}
		records = append(records, r)
		raw = raw[len(r.AppendTo(nil)):]
	}
	return b, records
}

// TestGoldenBatch: the bytes of a batch of two records.
func TestGoldenBatch(t *testing.T) {
	var b Batch
	b.Append(&kgo.Record{Key: []byte("ann\x00general"), Value: []byte("3 unread")}, 1_700_000_000_000)
	b.Append(&kgo.Record{Key: []byte("bob"), Headers: []kgo.RecordHeader{{Key: "traceparent", Value: []byte("00-1")}}}, 1_700_000_000_250)
	got := b.Seal(Producer{ID: 4711, Epoch: 3}, 99, nil)
	const want = "0000000000000000" + "00000067" + "ffffffff" + "02" + "3ab1c384" + "0000" + "00000001" + // offset, length, epoch, magic, checksum, codec, last
		"0000018bcfe56800" + "0000018bcfe568fa" + "0000000000001267" + "0003" + "00000063" + "00000002" + // times, producer, its epoch, sequence, records
		"32" + "00" + "00" + "00" + "16" + "616e6e0067656e6572616c" + "10" + "3320756e72656164" + "00" +
		"36" + "00" + "f403" + "02" + "06" + "626f62" + "01" + "02" + "16" + "7472616365706172656e74" + "08" + "30302d31"
	if hex.EncodeToString(got) != want {
		t.Errorf("the bytes are %x", got)
	}
	batch, records := decoded(t, got)
	if batch.ProducerID != 4711 || batch.ProducerEpoch != 3 || batch.FirstSequence != 99 || batch.NumRecords != 2 || batch.LastOffsetDelta != 1 ||
		batch.Magic != 2 || batch.PartitionLeaderEpoch != -1 || batch.FirstTimestamp != 1_700_000_000_000 || batch.MaxTimestamp != 1_700_000_000_250 {
		t.Errorf("decoded: %+v", batch)
	}
	if len(records) != 2 || records[1].Value != nil || string(records[1].Headers[0].Value) != "00-1" || records[1].TimestampDelta64 != 250 {
		t.Errorf("decoded: %+v", records)
	}
}

// drawn is a record with the time at which it is appended.
type drawn struct {
	kgo.Record
	at int64
}

func drawRecords(t *rapid.T) (list []drawn) {
	text := rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOfN(rapid.Byte(), 0, 300))
	at := rapid.Int64Range(0, 1<<41).Draw(t, "time")
	for range rapid.IntRange(1, 200).Draw(t, "records") {
		at += rapid.Int64Range(-100, 100_000).Draw(t, "later")
		d := drawn{at: at, Record: kgo.Record{Key: text.Draw(t, "key"), Value: text.Draw(t, "value")}}
		for range rapid.IntRange(0, 2).Draw(t, "headers") {
			d.Headers = append(d.Headers, kgo.RecordHeader{Key: rapid.String().Draw(t, "name"), Value: text.Draw(t, "header")})
		}
		list = append(list, d)
	}
	return list
}

func same(t *rapid.T, batch kmsg.RecordBatch, got []kmsg.Record, want []drawn) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i, g := range got {
		w := want[i]
		headers := slices.EqualFunc(g.Headers, w.Headers, func(a kmsg.Header, b kgo.RecordHeader) bool {
			return a.Key == b.Key && bytes.Equal(a.Value, b.Value) && (a.Value == nil) == (b.Value == nil)
		})
		if !bytes.Equal(g.Key, w.Key) || !bytes.Equal(g.Value, w.Value) || (g.Key == nil) != (w.Key == nil) || (g.Value == nil) != (w.Value == nil) || !headers ||
			int(g.OffsetDelta) != i || batch.FirstTimestamp+g.TimestampDelta64 != w.at {
			t.Fatalf("record %d: %+v, want %+v", i, g, w)
		}
	}
}

// TestPropertyBatch: any records under any codec are read as they were appended; a batch that takes
// what fits is never too long; and halves have the same records.
func TestPropertyBatch(t *testing.T) {
	var reused, one, other Batch
	rapid.Check(t, func(t *rapid.T) {
		list := drawRecords(t)
		codec := rapid.SampledFrom([]kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}).Draw(t, "codec")
		compressor, err := kgo.DefaultCompressor(codec)
		if err != nil {
			t.Fatal(err)
		}
		limit := rapid.IntRange(100, 100_000).Draw(t, "limit")
		reused.Reset()
		n := 0
		for n < len(list) && reused.Fits(&list[n].Record, limit) {
			reused.Append(&list[n].Record, list[n].at)
			n++
		}
		if n > 1 && reused.Size() > limit {
			t.Fatalf("%d bytes, and the limit is %d", reused.Size(), limit)
		}
		list = list[:n]
		p := Producer{ID: rapid.Int64Min(0).Draw(t, "producer"), Epoch: rapid.Int16Min(0).Draw(t, "epoch")}
		sequence := rapid.Int32Min(0).Draw(t, "sequence")
		size := reused.Size()
		batch, records := decoded(t, reused.Seal(p, sequence, compressor))
		same(t, batch, records, list)
		if batch.ProducerID != p.ID || batch.ProducerEpoch != p.Epoch || batch.FirstSequence != sequence || int(batch.NumRecords) != n || int(batch.LastOffsetDelta) != n-1 {
			t.Fatalf("decoded: %+v", batch)
		}
		if batch.MaxTimestamp != slices.MaxFunc(list, func(a, b drawn) int { return int(a.at - b.at) }).at {
			t.Fatalf("the latest time is %d", batch.MaxTimestamp)
		}
		if len(reused.Sealed()) > size {
			t.Fatalf("compression makes %d bytes of %d", len(reused.Sealed()), size)
		}
		if n < 2 {
			return
		}
		one.Reset()
		other.Reset()
		reused.Split(&one, &other)
		for _, half := range []struct {
			b    *Batch
			want []drawn
		}{{&one, list[:n/2]}, {&other, list[n/2:]}} {
			batch, records := decoded(t, half.b.Seal(p, sequence, compressor))
			same(t, batch, records, half.want)
		}
	})
}

// TestSequenceNumbers: they begin again at zero behind the largest one.
func TestSequenceNumbers(t *testing.T) {
	for _, c := range []struct{ sequence, count, want int32 }{
		{0, 10, 10}, {math.MaxInt32, 1, 0}, {math.MaxInt32 - 2, 10, 7}, {math.MaxInt32 - 1, 1, math.MaxInt32},
	} {
		if got := NextSequence(c.sequence, c.count); got != c.want {
			t.Errorf("after %d records from %d: %d, want %d", c.count, c.sequence, got, c.want)
		}
	}
}

// TestAppendAllocatesNothing: a batch that is used again needs no new memory.
func TestAppendAllocatesNothing(t *testing.T) {
	var b Batch
	r := &kgo.Record{Key: []byte("ann\x00general"), Value: bytes.Repeat([]byte("v"), 80)}
	fill := func() {
		b.Reset()
		for range 1000 {
			b.Append(r, 1_700_000_000_000)
		}
		b.Seal(Producer{}, 0, nil)
	}
	fill()
	if n := testing.AllocsPerRun(20, fill); n > 0 {
		t.Errorf("1,000 records make %v allocations, want none", n)
	}
}
