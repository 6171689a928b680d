package chaos

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/workload"
)

// newWorkload makes the events of a run, a function of the seed.
func newWorkload(seed uint64, send func(*kgo.Record)) *workload.Workload {
	return workload.New(seed, workload.Company{Partitions: partitions, People: 30,
		Busy: []int{2, 2, 3, 3, 4, 5, 5, 6, 7, 8, 13, 15, 18, 4}, Quiet: 90}, send)
}
