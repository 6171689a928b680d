package records

import (
	"encoding/binary"

	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// AppendWithThreads encodes the reads of a channel with its threads, or nothing if there are none.
func AppendWithThreads(b []byte, w *held.WithThreads) []byte {
	if w.Plain() {
		return b
	}
	for _, v := range [...]uint64{uint64(w.To), uint64(w.Offset), uint64(w.Public), uint64(w.From)} {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

// ReadWithThreads decodes the reads of a channel with its threads.
func ReadWithThreads(r *wire.Reader, w *held.WithThreads) {
	w.To, w.Offset, w.Public, w.From = r.U32(), int64(r.Uvarint()), r.U32(), int64(r.Uvarint())
}
