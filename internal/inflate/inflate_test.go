package inflate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

func TestMain(m *testing.M) { testkit.LeakFree(m) }

var codecs = map[string]kgo.CompressionCodec{
	"gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

func compressed(t *testing.T, codec kgo.CompressionCodec, plain []byte) ([]byte, kgo.CompressionCodecType) {
	t.Helper()
	c, err := kgo.DefaultCompressor(codec)
	if err != nil {
		t.Fatal(err)
	}
	out, used := c.Compress(new(bytes.Buffer), plain)
	return bytes.Clone(out), used
}

// A batch is refused before it exceeds the memory limit, with any codec. A batch within the limit
// is unchanged.
func TestABombIsRefused(t *testing.T) {
	const batch = 1 << 20
	for name, codec := range codecs {
		t.Run(name, func(t *testing.T) {
			bomb, used := compressed(t, codec, make([]byte, 64*batch))
			var pool taken
			for what, d := range map[string]kgo.Decompressor{"clients": newBounded(batch), "pooled": Pooled(batch, &pool)} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := d.Decompress(bomb, used)
				runtime.ReadMemStats(&after)
				if !errors.Is(err, kgo.ErrMaxDecompress) || Deferred(err) {
					t.Errorf("%s: %v", what, err)
				}
				if n := after.TotalAlloc - before.TotalAlloc; n > 16*batch {
					t.Errorf("%s: %d MiB were allocated for a bound of %d", what, n>>20, batch>>20)
				}
				good := bytes.Repeat([]byte("event "), batch/7)
				packed, used := compressed(t, codec, good)
				if out, err := d.Decompress(packed, used); err != nil || !bytes.Equal(out, good) {
					t.Errorf("%s: a batch within the bound: %d bytes, %v", what, len(out), err)
				}
			}
			if pool.asked == 0 {
				t.Error("the pool was never asked")
			}
		})
	}
}

// taken is a pool that counts its calls.
type taken struct{ asked int }

func (p *taken) GetDecompressBytes([]byte, kgo.CompressionCodecType) []byte { p.asked++; return nil }
func (p *taken) PutDecompressBytes([]byte)                                  {}

// Many batches that are each within the limit wait for one another, and continue once earlier ones
// are released.
func TestManyBombsWait(t *testing.T) {
	const batch = 1 << 20
	one := append(binary.AppendVarint(nil, batch-8), make([]byte, batch-8)...) // a record
	bomb, used := compressed(t, codecs["zstd"], one)
	d := newBounded(batch)
	func() {
		var kept [][]byte
		var err error
		for range 64 {
			var out []byte
			if out, err = d.Decompress(bomb, used); err != nil {
				break
			}
			kept = append(kept, out)
		}
		if !Deferred(err) || len(kept) > 3 {
			t.Fatalf("%d batches of %d MiB are held, then %v", len(kept), batch>>20, err)
		}
		if out, err := d.Decompress([]byte("plain"), kgo.CodecNone); err != nil || string(out) != "plain" {
			t.Errorf("what is not compressed waits, too: %q, %v", out, err)
		}
		runtime.KeepAlive(kept)
	}()
	testkit.Await(t, "room for another", func() bool {
		_, err := d.Decompress(bomb, used)
		return err == nil
	})
}

// Batches that compress as events do are not counted, and never wait.
func TestUsualBatchesAreNotCounted(t *testing.T) {
	d := newBounded(1 << 20)
	var b []byte
	for i := range 4000 {
		b = fmt.Appendf(b, `{"channel_id":"c%d","user_id":"u%d","read_up_to":{"message_id":"m%x"}}`, i*7919%4001, i*104729%4001, i*15485863)
	}
	for name, codec := range codecs {
		packed, used := compressed(t, codec, b)
		if _, err := d.Decompress(packed, used); err != nil || d.live.Load() != 0 {
			t.Errorf("%s: %v, %d bytes are counted of %d that came as %d", name, err, d.live.Load(), len(b), len(packed))
		}
	}
}

// Records of a few bytes need far more memory than their bytes, so they are counted before the
// client allocates them.
func TestManyTinyRecordsAreRefused(t *testing.T) {
	const batch = 1 << 20
	tiny := bytes.Repeat(append(binary.AppendVarint(nil, 6), 0, 0, 0, 1, 1, 0), batch/8)
	packed, used := compressed(t, codecs["lz4"], tiny)
	if _, err := Pooled(batch, nil).Decompress(packed, used); !errors.Is(err, kgo.ErrMaxDecompress) {
		t.Errorf("%d records: %v", records(tiny), err)
	}
	if n := records(tiny); n != batch/8 {
		t.Errorf("%d records are counted, want %d", n, batch/8)
	}
	for _, b := range [][]byte{nil, {0xff}, {3}, {200, 1}} {
		if n := records(b); n != 0 {
			t.Errorf("%x: %d records", b, n)
		}
	}
}

func TestTheBoundInWords(t *testing.T) {
	for limit, want := range map[int64]int{0: DefaultBatch, 64 << 20: MinBatch, 512 << 20: 32 << 20, 16 << 30: 1 << 30} {
		if got := Batch(limit); got != want {
			t.Errorf("with a limit of %d MiB a batch may have %d MiB, want %d", limit>>20, got>>20, want>>20)
		}
	}
	err := InWords(fmt.Errorf("odd: %w", &kgo.ErrDecompressTooLarge{Topic: "chat.reads", Partition: 3, Offset: 17, NextOffset: 20}), 32<<20)
	for _, want := range []string{"chat.reads/3 at offset 17", "up to offset 19", "32 MiB", "--memory"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
	other := errors.New("other")
	if !errors.Is(InWords(other, 1), other) || InWords(nil, 1) != nil {
		t.Error("other errors stay as they are")
	}
}
