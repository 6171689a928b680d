package sink

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Partition names a partition of a topic.
type Partition struct {
	Topic  string
	Number int32
}

// String returns its name: topic/partition.
func (p Partition) String() string { return p.Topic + "/" + strconv.Itoa(int(p.Number)) }

// Compare orders partitions by topic, then by number.
func (p Partition) Compare(q Partition) int {
	return cmp.Or(cmp.Compare(p.Topic, q.Topic), cmp.Compare(p.Number, q.Number))
}

// Assigned returns the partitions of an assignment, in order.
func Assigned(offsets map[string]map[int32]kgo.Offset) (list []Partition) {
	for topic, numbers := range offsets {
		for n := range numbers {
			list = append(list, Partition{topic, n})
		}
	}
	slices.SortFunc(list, Partition.Compare)
	return list
}

// Extent is the beginning and the end of a partition's log: the offsets of the first record and of
// the next one.
type Extent struct{ Start, End int64 }
