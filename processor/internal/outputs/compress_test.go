package outputs

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"
)

// TestPropertyCompressor: the client's own decompressor reads what the Compressor writes, whatever
// its size, and writers that are used again carry nothing over.
func TestPropertyCompressor(t *testing.T) {
	c, decompressor := NewCompressor(), kgo.DefaultDecompressor()
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "unit")
		src := bytes.Repeat(unit, rapid.IntRange(1, 2000).Draw(t, "times"))
		got, codec := c.Compress(new(bytes.Buffer), src)
		if codec != kgo.CodecLz4 {
			t.Fatalf("codec %d", codec)
		}
		back, err := decompressor.Decompress(got, codec)
		if err != nil || !bytes.Equal(back, src) {
			t.Fatalf("%d bytes came back as %d: %v", len(src), len(back), err)
		}
	})
}

// TestCompressorWritesFramesOfJava: the frame descriptor is that of Kafka's Java clients, so every
// client and broker reads it.
func TestCompressorWritesFramesOfJava(t *testing.T) {
	got, _ := NewCompressor().Compress(new(bytes.Buffer), make([]byte, 1<<20))
	// Magic number, version 1 with independent blocks and no checksums or content size, blocks of
	// 64 KiB.
	if want := []byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40}; !bytes.HasPrefix(got, want) {
		t.Errorf("the frame begins with % x, want % x", got[:6], want)
	}
	if len(got) > 10<<10 {
		t.Errorf("1 MiB of zeros took %d bytes", len(got))
	}
}
