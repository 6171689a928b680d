package position

import (
	"slices"
	"testing"
)

// A written list can be read; anything but an ascending list of existing partitions is refused.
func TestPartitionsOfAHeader(t *testing.T) {
	for _, ps := range [][]int32{nil, {0}, {1, 2, 7}} {
		if got, err := ParsePartitions("only", JoinPartitions(ps), 8); err != nil || !slices.Equal(got, ps) {
			t.Errorf("%v is read as %v, %v", ps, got, err)
		}
	}
	for _, bad := range []string{"8", "2,1", "1,1", "-1", "1,", "one"} {
		if got, err := ParsePartitions("only", bad, 8); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}
