package records

import (
	"bytes"
	"testing"

	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// TestWithThreads: decoding gives the same reads with threads. Without them there is no record.
func TestWithThreads(t *testing.T) {
	for _, want := range []held.WithThreads{
		{To: 300, Offset: 1 << 40, Public: 200, From: 1 << 39}, {From: 7}, {Public: 1}, {To: 1<<32 - 1, Offset: 1},
	} {
		b := AppendWithThreads(nil, &want)
		var got held.WithThreads
		r := wire.Reader{B: b}
		if ReadWithThreads(&r, &got); r.Done() != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, r.Err, want)
		}
		for cut := range b {
			r := wire.Reader{B: bytes.Clone(b[:cut])}
			if ReadWithThreads(&r, &got); r.Done() == nil {
				t.Errorf("%+v: the first %d of %d bytes were taken for it", want, cut, len(b))
			}
		}
	}
	if b := AppendWithThreads(nil, &held.WithThreads{Dirty: true, Offset: 5}); len(b) != 0 {
		t.Errorf("a record of nothing: %x", b)
	}
}
