package query

import (
	"context"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/cold"
	"github.com/tidemark/tidemark/query/internal/fault"
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

// readChannel is read for one channel. If the channel is cold, fn runs without the lock and gets a
// partition with that channel alone, as of the position that it has. The caller closes share, which
// is empty before.
func (s *service) readChannel(p int32, channelID string, share *cold.Share, fn func(*projections.Partition)) error {
	var read *projections.ColdRead
	err := s.read(p, func(part *projections.Partition) {
		if read = part.ColdChannel(channelID); read == nil {
			fn(part)
		}
	})
	if err != nil || read == nil {
		return err
	}
	if err := share.Replace(read); err != nil {
		return err
	}
	fn(share.Part)
	return share.Part.Err()
}

// readUser is read for everything that a user has in a partition. fn also gets a source with the
// cold channels, nil if there are none; together they are as of one position. The caller closes
// share.
func (s *service) readUser(ctx context.Context, p int32, userID string, share *cold.Share, fn func(part *projections.Partition, cold projections.Source)) error {
	for ctx.Err() == nil {
		same, err := s.readSame(p, userID, share, func(part *projections.Partition) { fn(part, share.Source()) })
		if same || err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// readSame is read if share has exactly the cold channels of a user. Otherwise it loads those, does
// not call fn, and same is false. It fails while the partition is not Listed.
func (s *service) readSame(p int32, userID string, share *cold.Share, fn func(*projections.Partition)) (same bool, err error) {
	var next *projections.ColdRead
	listed := true
	err = s.read(p, func(part *projections.Partition) {
		if listed = part.Listed(); !listed {
			return
		}
		if same = part.SameCold(userID, share.Read); same {
			fn(part)
		} else {
			next = part.ColdOf(userID)
		}
	})
	if err == nil && !listed {
		err = fault.Unavailable("partition %d: %v", p, projections.ErrListing)
	}
	if err != nil || same {
		next.Close()
		return same, err
	}
	return false, share.Replace(next)
}
