package cache

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// watchEnds keeps the lag true until ctx is done, also while Redis is slow or away. The end that a
// fetch brings along is as old as the fetch.
func (s *session) watchEnds(ctx context.Context) {
	every := time.NewTicker(s.cfg.CommitEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		s.cfg.plant("ends")
		ask, cancel := context.WithTimeout(ctx, 10*time.Second)
		ends, err := s.adm.ListEndOffsets(ask, s.cfg.Unread, s.cfg.Channels)
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
			s.cache.metrics.setLag(p.partition, p.end-p.stored)
		}
	}
}
