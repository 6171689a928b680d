package recordbatch

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// decode decodes batches as the Kafka client does.
func decode(t *testing.T, raw []byte) (records []*kgo.Record, next int64) {
	t.Helper()
	answer := kmsg.NewFetchResponseTopicPartition()
	answer.HighWatermark, answer.RecordBatches = 1<<40, raw
	got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: "t"}, &answer, kgo.DefaultDecompressor(), nil)
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	return got.Records, next
}

// The client reads back what Random made: keys, values, headers, times and offsets, in every codec.
func TestRandomIsReadBack(t *testing.T) {
	for _, codec := range []kgo.CompressionCodec{
		kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
	} {
		batches, want := Random(t, rand.New(rand.NewPCG(3, 4)), codec, 2000)
		got, next := decode(t, bytes.Join(batches, nil))
		if len(got) != len(want) || next != int64(len(want)) || len(batches) < 3 {
			t.Fatalf("%v: %d records of %d in %d batches, then %d", codec, len(got), len(want), len(batches), next)
		}
		headers := 0
		for i, r := range got {
			w := want[i]
			if r.Offset != w.Offset || !r.Timestamp.Equal(w.Timestamp) || !bytes.Equal(r.Key, w.Key) || !bytes.Equal(r.Value, w.Value) || len(r.Headers) != len(w.Headers) {
				t.Fatalf("%v: record %d is %+v, want %+v", codec, i, r, w)
			}
			for j, h := range r.Headers {
				headers++
				if h.Key != w.Headers[j].Key || !bytes.Equal(h.Value, w.Headers[j].Value) {
					t.Fatalf("%v: header of record %d is %+v", codec, i, h)
				}
			}
		}
		if headers == 0 {
			t.Errorf("%v: no record has a header", codec)
		}
	}
}

// An empty batch has no records and moves the position on.
func TestEmpty(t *testing.T) {
	one := Encode(t, kgo.NoCompression(), []*kgo.Record{{Offset: 9, Value: []byte("v"), Timestamp: time.UnixMilli(5)}})
	got, next := decode(t, append(Empty(4, 9), one...))
	if len(got) != 1 || got[0].Offset != 9 || next != 10 {
		t.Errorf("%d records, then %d", len(got), next)
	}
	if got, next = decode(t, Empty(4, 9)); len(got) != 0 || next != 9 {
		t.Errorf("%d records, then %d", len(got), next)
	}
}

// Seal corrects the checksum and the length of a changed batch; without it a reader notices the
// change.
func TestSeal(t *testing.T) {
	b := Encode(t, kgo.NoCompression(), []*kgo.Record{{Offset: 0, Value: []byte("before"), Timestamp: time.UnixMilli(5)}})
	copy(b[bytes.Index(b, []byte("before")):], "after!")
	answer := kmsg.NewFetchResponseTopicPartition()
	answer.HighWatermark, answer.RecordBatches = 1, b
	if got, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: "t"}, &answer, kgo.DefaultDecompressor(), nil); got.Err == nil {
		t.Fatal("a wrong checksum is accepted")
	}
	if got, _ := decode(t, Seal(b)); len(got) != 1 || string(got[0].Value) != "after!" {
		t.Errorf("%v", got)
	}
}
