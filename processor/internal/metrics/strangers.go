package metrics

import (
	"log/slog"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// strangersLimit is the number of records in wrong partitions of a topic after which one log line
// names the likely producer.
const strangersLimit = 20

// strangers are the records in wrong partitions, by topic, of all partitions of the process.
type strangers struct {
	mu     sync.Mutex
	topics [events.NumInputs]events.Strangers
}

// Note counts a record of a topic with n partitions. When a topic reaches strangersLimit such
// records, Note logs one line with the way out.
func (s *strangers) Note(log *slog.Logger, in events.Input, r *kgo.Record, n int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.topics[in]
	if t.N >= strangersLimit {
		return
	}
	if t.Add(r.Key, r.Partition, n); t.N == strangersLimit {
		by := t.LookLike()
		log.Error("records are in partitions where their channels do not belong", "topic", r.Topic, "records", t.N,
			"looks_like", by.String(), "do", by.Do())
	}
}
