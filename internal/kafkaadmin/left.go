package kafkaadmin

import "github.com/twmb/franz-go/pkg/kgo"

// Left is how far the partitions of a topic are still to be read: the offset after the last record
// of each. A client that reads up to it must keep control records, because the last record of a log
// may be one.
type Left map[int32]int64

// Take calls fn for the records of fetches that are still to be read. It leaves out control
// records, and removes the partitions that are read to their ends. It ends with an error of fn.
func (l Left) Take(fetches kgo.Fetches, fn func(*kgo.Record) error) error {
	for it := fetches.RecordIter(); !it.Done(); {
		r := it.Next()
		end, wanted := l[r.Partition]
		if !wanted {
			continue
		}
		if r.Offset < end && !r.Attrs.IsControl() {
			if err := fn(r); err != nil {
				return err
			}
		}
		if r.Offset >= end-1 {
			delete(l, r.Partition)
		}
	}
	return nil
}
