package body

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tidemark/tidemark/internal/limit"
)

var errFull = errors.New("full")

// request is a POST of n bytes that arrive one by one.
func request(n int, encoding string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", iotest.OneByteReader(strings.NewReader(strings.Repeat("x", n))))
	if encoding != "" {
		r.Header.Set("Connect-Content-Encoding", encoding)
	}
	return r
}

// isFree reports whether n bytes of the share are free.
func isFree(t *testing.T, share *limit.Bytes, n int64) bool {
	t.Helper()
	release, ok := share.Acquire(t.Context(), n)
	if ok {
		release()
	}
	return ok
}

// A small body takes nothing. A larger one takes its step, times the cost of a byte, as it arrives,
// and releases it.
func TestBodyTakesItsShare(t *testing.T) {
	const total = 10 * step * Cost
	for _, c := range []struct {
		name  string
		size  int
		taken int64
	}{
		{"nothing", 0, 0}, {"small", free, 0}, {"larger", free + 1, step * Cost}, {"a step", step, step * Cost}, {"more", step + 1, 2 * step * Cost},
	} {
		share := limit.NewBytes(total, 0)
		b := New(t.Context(), request(c.size, ""), share, 4*step, func() error { return errFull })
		if got, err := io.ReadAll(b); err != nil || len(got) != c.size {
			t.Fatalf("%s: %d bytes, %v", c.name, len(got), err)
		}
		if !isFree(t, share, total-c.taken) || c.taken > 0 && isFree(t, share, total-c.taken+1) {
			t.Errorf("%s: not %d bytes are taken", c.name, c.taken)
		}
		b.Release()
		b.Release() // a second release frees nothing
		if !isFree(t, share, total) {
			t.Errorf("%s: something is kept", c.name)
		}
	}
}

// A body takes no more than its limit, whatever its decompressed size.
func TestCompressedBody(t *testing.T) {
	const max = 3 * step
	const total = 10 * step * Cost
	for encoding, taken := range map[string]int64{"gzip": max * Cost, "identity": 0, "": 0} {
		share := limit.NewBytes(total, 0)
		b := New(t.Context(), request(1000, encoding), share, max, func() error { return errFull })
		if _, err := io.ReadAll(b); err != nil {
			t.Fatal(err)
		}
		if !isFree(t, share, total-taken) || taken > 0 && isFree(t, share, total-taken+1) {
			t.Errorf("%q: not %d bytes are taken", encoding, taken)
		}
		b.Release()
	}
}

// A body for which there is no memory fails while it is read, and releases its share.
func TestBodyWithoutRoom(t *testing.T) {
	share := limit.NewBytes(3*step*Cost, 10*time.Millisecond)
	others, ok := share.Acquire(t.Context(), 2*step*Cost)
	if !ok {
		t.Fatal("no room")
	}
	b := New(t.Context(), request(2*step, ""), share, 4*step, func() error { return errFull })
	got, err := io.ReadAll(b)
	if !errors.Is(err, errFull) || len(got) != step {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	b.Release()
	others()
	if !isFree(t, share, 3*step*Cost) {
		t.Error("something is kept")
	}
}
