// Package inflate bounds the decompressed size of fetched record batches. A batch of a few
// kilobytes can become gigabytes: the brokers check only its compressed size.
//
// There are two bounds. A batch beyond the first stops its partition, with an error for the
// operator: this process does not have enough memory for it. All batches in memory together have
// the second bound; a batch beyond it waits for a moment.
package inflate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// DefaultBatch is the largest decompressed size of a batch without a memory limit.
const DefaultBatch = 64 << 20

// MinBatch admits a batch with two of the longest values that are decoded.
const MinBatch = 8 << 20

// Batch returns the largest decompressed size of a batch in a process with a memory limit: a
// sixteenth of it, because several copies exist during decompression. Without a limit it is
// DefaultBatch.
func Batch(limit int64) int {
	if limit <= 0 {
		return DefaultBatch
	}
	return int(max(limit/16, MinBatch))
}

// recordBytes is the client's memory for a record beside its bytes in the batch.
const recordBytes = 200

// recordsShare times the bound of a batch bounds the memory for its records, in addition to their
// bytes.
const recordsShare = 3

// Options bound all clients made with them, together. batch is the largest decompressed size of one
// batch. Twice as much bounds all dense batches in memory, which are more than ratio times as large
// as their compressed form.
func Options(batch int) []kgo.Opt {
	return []kgo.Opt{kgo.MaxDecompressBatchBytes(batch), kgo.WithDecompressor(newBounded(batch))}
}

// Limit returns the bound of a client for one batch.
func Limit(cl *kgo.Client) int {
	if n, ok := cl.OptValue(kgo.MaxDecompressBatchBytes).(int); ok {
		return n
	}
	return DefaultBatch
}

// Pooled is a decompressor with a bound for one batch, which decompresses into memory of a pool.
func Pooled(batch int, pool kgo.Pool) kgo.Decompressor {
	// Only a client can make a decompressor. This one connects to nothing.
	cl, err := kgo.NewClient(kgo.MaxDecompressBatchBytes(batch), kgo.WithDecompressor(kgo.DefaultDecompressor(pool)), kgo.DisableClientMetrics())
	if err != nil {
		panic(err) // the options above are valid
	}
	defer cl.Close()
	return weighed{cl.OptValue(kgo.WithDecompressor).(kgo.Decompressor), batch}
}

// weighed also refuses a batch with so many records that they would need far more memory than their
// bytes.
type weighed struct {
	kgo.Decompressor
	batch int
}

// Decompress implements kgo.Decompressor.
func (w weighed) Decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	out, err := w.Decompressor.Decompress(src, codec)
	if err == nil && codec != kgo.CodecNone && len(out) > w.batch*recordsShare/recordBytes && records(out)*recordBytes > w.batch*recordsShare {
		return nil, kgo.ErrMaxDecompress
	}
	return out, err
}

// records counts the records of a decompressed batch of format 2, in which each record begins with
// its length.
func records(b []byte) (n int) {
	for len(b) > 0 {
		length, size := binary.Varint(b)
		if size <= 0 || length < 0 || length > int64(len(b)-size) {
			return n
		}
		b = b[size+int(length):]
		n++
	}
	return n
}

const (
	// ratio is above the compression of batches of real events. A denser batch counts until the
	// collector frees it.
	ratio = 16
	// uncounted is the length up to which a decompressed batch is not counted.
	uncounted = 4 << 10
)

// bounded is the decompressor of a process's clients.
type bounded struct {
	kgo.Decompressor
	budget int64
	live   atomic.Int64 // bytes of dense batches that are not yet collected

	collecting sync.Mutex
}

func newBounded(batch int) *bounded {
	return &bounded{Decompressor: Pooled(batch, nil), budget: 2 * int64(batch)}
}

// errWait is the error of a batch for which there is no room yet. The client fetches it again.
var errWait = errors.New("batches fetched earlier fill the memory for decompressed batches; this one is fetched again")

// Deferred reports whether a polled error only means that a batch is fetched again.
func Deferred(err error) bool { return errors.Is(err, errWait) }

// Decompress implements kgo.Decompressor.
func (d *bounded) Decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	if d.live.Load() >= d.budget && codec != kgo.CodecNone && !d.collect() {
		return nil, errWait
	}
	out, err := d.Decompressor.Decompress(src, codec)
	if n := int64(len(out)); err == nil && n > uncounted && n > ratio*int64(len(src)) {
		d.live.Add(n)
		runtime.AddCleanup(&out[0], func(n int64) { d.live.Add(-n) }, n)
	}
	return out, err
}

// patience is how long a fetch waits for memory before it is repeated.
const patience = 50 * time.Millisecond

// collect drops the batches that the collector has freed, and reports whether there is room now.
func (d *bounded) collect() bool {
	d.collecting.Lock()
	defer d.collecting.Unlock()
	for end := time.Now().Add(patience); d.live.Load() >= d.budget; time.Sleep(patience / 10) {
		if time.Now().After(end) {
			return false
		}
		runtime.GC()
	}
	return true
}

// InWords returns err as a sentence with place and way out, if it is about a batch beyond the bound
// of a client.
func InWords(err error, batch int) error {
	var large *kgo.ErrDecompressTooLarge
	if !errors.As(err, &large) {
		return err
	}
	return &TooLargeError{Topic: large.Topic, Partition: large.Partition, Offset: large.Offset, Next: large.NextOffset, Limit: batch}
}

// PassOver lets a client read on after a batch beyond its bound, for readers that may miss records,
// and logs a line. It reports false if a polled error is about something else.
func PassOver(cl *kgo.Client, err error, log *slog.Logger) bool {
	var large *kgo.ErrDecompressTooLarge
	if !errors.As(err, &large) {
		return Deferred(err)
	}
	log.Warn("a batch of records is skipped", "error", InWords(err, Limit(cl)))
	next := kgo.EpochOffset{Epoch: large.Epoch, Offset: large.NextOffset}
	cl.SetOffsets(map[string]map[int32]kgo.EpochOffset{large.Topic: {large.Partition: next}})
	return true
}

// TooLargeError is the error for a batch that would decompress to more than this process allows.
type TooLargeError struct {
	Topic        string
	Partition    int32
	Offset, Next int64 // of its first record, and after its last one
	Limit        int   // bytes
}

// Error names the place of the batch and the way out.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s/%d at offset %d: a compressed batch of records (up to offset %d) would become more than the %d MiB that it may: "+
		"find out who writes such; to read on, give this process more memory (a batch may have a sixteenth of --memory)",
		e.Topic, e.Partition, e.Offset, e.Next-1, e.Limit>>20)
}
