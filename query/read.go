package query

import (
	"github.com/tidemark/tidemark/projections"
)

// read calls fn while it holds the read lock of partition p, which must be live here. So everything
// that fn reads, including the position, is one consistent reading. If the partition is not live
// here, read returns an error without calling fn. If the store turns out to be corrupt, read
// returns an error and the result of fn is worthless.
//
// read calls Live again under the lock, so it does not read a partition that was closed between the
// first call and the lock. A panic of fn continues to the caller; the lock is released.
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

// readIfLive reports whether part was live, so that it called fn.
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
