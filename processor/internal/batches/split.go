package batches

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Split appends the first half of the records to one batch, and the others to another one. Both
// must be empty.
func (b *Batch) Split(one, other *Batch) {
	records := b.buf[headerBytes:]
	for i := range b.count {
		n, length := binary.Varint(records)
		end := length + int(n)
		r, delta := decode(records[length:end])
		records = records[end:]
		to := one
		if i >= b.count/2 {
			to = other
		}
		to.Append(&r, b.first+delta)
	}
}

// decode returns a record that Append has encoded, and its time after the first one. The record
// refers to body.
func decode(body []byte) (r kgo.Record, delta int64) {
	body = body[1:] // attributes
	number := func() int64 {
		v, n := binary.Varint(body)
		body = body[n:]
		return v
	}
	text := func() []byte {
		n := number()
		if n < 0 {
			return nil
		}
		b := body[:n:n]
		body = body[n:]
		return b
	}
	delta = number()
	number() // place in the batch
	r.Key, r.Value = text(), text()
	for n := number(); n > 0; n-- {
		key := string(text())
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: key, Value: text()})
	}
	return r, delta
}
