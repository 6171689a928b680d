// Package body limits the memory of request bodies.
//
//	body.go   a body that acquires its share while it arrives
package body

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/tidemark/tidemark/internal/limit"
)

const (
	// free is how many bytes of a body need no share of Limits.Bodies, because the connection
	// itself takes at least as much.
	free = 4 << 10
	// step is the smallest share that a larger body acquires.
	step = 64 << 10
	// Cost is the memory of a body per byte: buffers that have grown to the next power of two, and
	// the message.
	Cost = 4
	// inflation is the largest factor by which decompression enlarges a body, the limit of deflate.
	inflation = 1032
	// Wait is how long a body waits for its share.
	Wait = time.Second
)

// Metered is a request's body that acquires memory from a share while it arrives. So a caller that
// announces a large body and sends nothing holds nothing.
type Metered struct {
	io.ReadCloser
	ctx     context.Context
	share   *limit.Bytes
	refused func() error // creates the error of a body for which there is no memory
	limit   int64        // of the decompressed body, in bytes
	factor  int64        // memory per byte of the body

	read, acquired int64 // bytes, before decompression, and acquired
	releases       []func()
}

// New meters the body of r, which may have limit bytes after decompression. refused creates the
// error of a body for which there is no memory.
func New(ctx context.Context, r *http.Request, share *limit.Bytes, limit int64, refused func() error) *Metered {
	b := &Metered{ReadCloser: r.Body, ctx: ctx, share: share, refused: refused, limit: limit, factor: 1}
	for _, h := range []string{"Content-Encoding", "Connect-Content-Encoding", "Grpc-Encoding"} {
		if e := r.Header.Get(h); e != "" && e != "identity" {
			b.factor = inflation
		}
	}
	return b
}

// Read reads from the body, and fails with a *connect.Error if there is no memory for more.
func (b *Metered) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if need := min(b.read*b.factor, b.limit); need > max(b.acquired, free) {
		if full := b.grow(min(max(need, 2*b.acquired, step), b.limit)); full != nil {
			return 0, full
		}
	}
	return n, err
}

func (b *Metered) grow(to int64) error {
	release, ok := b.share.Acquire(b.ctx, (to-b.acquired)*Cost)
	if !ok {
		return b.refused()
	}
	b.releases, b.acquired = append(b.releases, release), to
	return nil
}

// Release frees the body's memory.
func (b *Metered) Release() {
	for _, r := range b.releases {
		r()
	}
	b.releases = nil
}
