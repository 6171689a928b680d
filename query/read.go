package query

import (
	"github.com/tidemark/tidemark/projections"
)

// read calls fn while it holds the read lock of partition p, which is live here: what fn reads, the
// position included, is one reading. It reports an error if the partition is not live here, and
// then has not called fn, or if its store turned out to be corrupt, and then what fn read is worth
// nothing.
//
// Live is asked again under the lock: a partition that was closed between the first answer and the
// lock is not read. A panic of fn goes on to the caller; the lock is released.
func (s *service) read(p int32, fn func(*projections.Partition)) error {
	for {
		part, err := s.node.Live(p)
		if err != nil {
			return err
		}
		if was, err := s.readIfLive(p, part, fn); was || err != nil {
			return err
		}
	}
}

// readIfLive reports whether part was live, so that fn was called.
func (s *service) readIfLive(p int32, part *projections.Partition, fn func(*projections.Partition)) (was bool, err error) {
	part.RLock()
	defer part.RUnlock()
	now, err := s.node.Live(p)
	if err != nil || now != part {
		return false, err
	}
	if s.planted != nil {
		s.planted(p)
	}
	fn(part)
	return true, part.Err()
}
