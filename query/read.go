package query

import (
	"github.com/tidemark/tidemark/projections"
)

// read calls fn while it holds the read lock of partition p, which is live here: what fn reads, the position included,
// is one reading. It reports an error if the partition is not live here, and then has not called fn, or if its store
// turned out to be corrupt, and then what fn read is worth nothing.
//
// Live is asked again under the lock: a partition that was closed between the first answer and the lock is not read.
func (s *service) read(p int32, fn func(*projections.Partition)) error {
	for {
		part, err := s.node.Live(p)
		if err != nil {
			return err
		}
		part.RLock()
		now, err := s.node.Live(p)
		if err == nil && now == part {
			fn(part)
			err = part.Err()
			part.RUnlock()
			return err
		}
		part.RUnlock()
		if err != nil {
			return err
		}
	}
}
