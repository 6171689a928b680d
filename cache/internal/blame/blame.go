// Package blame finds records at which the cache panics each time.
package blame

import "github.com/twmb/franz-go/pkg/kgo"

// Records counts the panics at each record. A panic ends the session, and the next one begins at
// the cursors and meets the record again. After Tries the record is skipped, like one that does not
// decode, so that it does not keep everything behind it out of Redis.
type Records map[place]int

// place names a record.
type place struct {
	topic     string
	partition int32
	offset    int64
}

const (
	// Tries is how often a record is tried: a panic may not happen again.
	Tries = 3
	// most is how many records are remembered.
	most = 10_000
)

func placeOf(r *kgo.Record) place { return place{r.Topic, r.Partition, r.Offset} }

// Add blames a record once more.
func (b Records) Add(r *kgo.Record) {
	if len(b) >= most {
		clear(b)
	}
	b[placeOf(r)]++
}

// Skips reports whether a record was tried often enough.
func (b Records) Skips(r *kgo.Record) bool { return len(b) > 0 && b[placeOf(r)] >= Tries }
