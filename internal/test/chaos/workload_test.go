package chaos

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/test/workload"
)

// newWorkload makes the events of a run. They are a function of the seed, except for their times:
// erasures have real times, and the other events must not have expired by then. 860,000 events take
// a day.
func newWorkload(seed uint64, send func(*kgo.Record)) *workload.Workload {
	return workload.New(seed, workload.Company{Partitions: partitions, People: 30,
		Busy: []int{2, 2, 3, 3, 4, 5, 5, 6, 7, 8, 13, 15, 18, 4}, Quiet: 90, Varied: true,
		Epoch: time.Now().Add(-24 * time.Hour).Truncate(time.Second)}, send)
}
