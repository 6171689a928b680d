package cache

import "github.com/twmb/franz-go/pkg/kgo"

// blamed counts the panics at each record. A panic ends the session, and the next one begins at the
// cursors and meets the record again. After blameTries the record is skipped, like one that does
// not decode, so that it does not keep everything behind it out of Redis.
type blamed map[place]int

// place names a record.
type place struct {
	topic     string
	partition int32
	offset    int64
}

const (
	// blameTries is how often a record is tried: a panic may not happen again.
	blameTries = 3
	// maxBlamed bounds the records that are remembered.
	maxBlamed = 10_000
)

func placeOf(r *kgo.Record) place { return place{r.Topic, r.Partition, r.Offset} }

// add blames a record once more.
func (b blamed) add(r *kgo.Record) {
	if len(b) >= maxBlamed {
		clear(b)
	}
	b[placeOf(r)]++
}

// skips reports whether a record was tried often enough.
func (b blamed) skips(r *kgo.Record) bool { return len(b) > 0 && b[placeOf(r)] >= blameTries }
