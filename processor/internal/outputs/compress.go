package outputs

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Compressor compresses record batches as Kafka's Java clients do: LZ4 in blocks of 64 KiB without
// a checksum of the content, because each record batch has its own. The client's compressor adds
// that checksum and uses blocks of 4 MiB, which leave the CPU caches.
type Compressor struct{ writers sync.Pool }

// NewCompressor returns a Compressor for kgo.WithCompressor.
func NewCompressor() *Compressor {
	return &Compressor{writers: sync.Pool{New: func() any {
		w := lz4.NewWriter(nil)
		if err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false)); err != nil {
			panic(fmt.Sprintf("LZ4 refuses its own options: %v", err))
		}
		return w
	}}}
}

// Compress implements kgo.Compressor.
func (c *Compressor) Compress(dst *bytes.Buffer, src []byte, _ ...kgo.CompressFlag) ([]byte, kgo.CompressionCodecType) {
	w, ok := c.writers.Get().(*lz4.Writer)
	if !ok {
		return nil, kgo.CodecError
	}
	defer c.writers.Put(w)
	w.Reset(dst)
	if _, err := w.Write(src); err != nil {
		return nil, kgo.CodecError
	}
	if err := w.Close(); err != nil {
		return nil, kgo.CodecError
	}
	return dst.Bytes(), kgo.CodecLz4
}
