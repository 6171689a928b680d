package position

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tidemark/tidemark/query/internal/fault"
)

// JoinPartitions encodes partitions for ParsePartitions.
func JoinPartitions(ps []int32) string {
	var b strings.Builder
	for i, p := range ps {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(p)))
	}
	return b.String()
}

// Some lists partitions for people: the first few of them.
func Some(ps []int32) string {
	const few = 8
	switch n := len(ps); {
	case n == 1:
		return fmt.Sprintf("partition %d", ps[0])
	case n > few+1:
		return fmt.Sprintf("partitions %s and %d others", JoinPartitions(ps[:few]), n-few)
	}
	return "partitions " + JoinPartitions(ps)
}

// ParsePartitions parses the value of a header that restricts a call to some of n partitions; nil
// if it is empty.
func ParsePartitions(header, value string, n int32) ([]int32, error) {
	if value == "" {
		return nil, nil
	}
	var ps []int32
	for f := range strings.SplitSeq(value, ",") {
		p, err := strconv.ParseUint(f, 10, 31)
		if err != nil || int32(p) >= n || len(ps) > 0 && int32(p) <= ps[len(ps)-1] {
			return nil, fault.Invalid("header %s is %.100q, want ascending partitions below %d", header, value, n)
		}
		ps = append(ps, int32(p))
	}
	return ps, nil
}
