package sqlsink

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// watchEnds keeps the lag true until ctx is done, also while the database is slow or away. The end
// that a fetch brings along is as old as the fetch.
func (s *session) watchEnds(ctx context.Context) {
	every := time.NewTicker(s.cfg.CommitEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		ask, cancel := context.WithTimeout(ctx, 10*time.Second)
		ends, err := s.adm.ListEndOffsets(ask, s.cfg.topics()...)
		cancel()
		if err != nil {
			continue // the client logs brokers that are away, and the lag stays what it was
		}
		s.end(ends)
	}
}

// end notes how far the logs reach.
func (s *session) end(ends kadm.ListedOffsets) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.parts {
		if o, ok := ends.Lookup(p.topic, p.number); ok && o.Err == nil {
			p.end = max(p.end, o.Offset)
			s.sink.metrics.setLag(p.partition, max(0, p.end-p.stored))
		}
	}
	if !s.since.IsZero() {
		s.sink.metrics.lagSeconds.Set(time.Since(s.since).Seconds())
	}
}
