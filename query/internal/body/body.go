// Package body meters what the bodies of requests take of memory.
//
//	body.go   a body that takes its share while it arrives
package body

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/tidemark/tidemark/internal/limit"
)

const (
	// free is how much of a body needs no share of Limits.Bodies: no more than what its connection
	// takes itself.
	free = 4 << 10
	// step is the least share that a larger body takes.
	step = 64 << 10
	// Cost is how much memory a byte of a body takes: buffers that have grown to the next power of
	// two, and the message.
	Cost = 4
	// inflation is how many bytes a compressed byte can become: deflate's limit.
	inflation = 1032
	// Wait is how long a body waits for its share.
	Wait = time.Second
)

// Metered is a request's body that takes memory from a share while it arrives. A caller who
// announces much and sends nothing holds nothing.
type Metered struct {
	io.ReadCloser
	ctx     context.Context
	share   *limit.Bytes
	refused func() error // makes the error of a body that finds no room
	limit   int64        // of the body, unpacked
	factor  int64        // how large a byte of it may become

	read, acquired int64 // bytes, before and after unpacking
	releases       []func()
}

// New meters the body of r, which may have limit bytes unpacked. refused makes the error of a body
// that finds no room.
func New(ctx context.Context, r *http.Request, share *limit.Bytes, limit int64, refused func() error) *Metered {
	b := &Metered{ReadCloser: r.Body, ctx: ctx, share: share, refused: refused, limit: limit, factor: 1}
	for _, h := range []string{"Content-Encoding", "Connect-Content-Encoding", "Grpc-Encoding"} {
		if e := r.Header.Get(h); e != "" && e != "identity" {
			b.factor = inflation
		}
	}
	return b
}

// Read reads from the body, and fails with a *connect.Error where there is no memory for more.
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

// Release gives the body's memory back.
func (b *Metered) Release() {
	for _, r := range b.releases {
		r()
	}
	b.releases = nil
}
