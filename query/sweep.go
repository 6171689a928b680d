package query

import (
	"context"
	"errors"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/cold"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/internal/owners"
	"github.com/tidemark/tidemark/query/internal/position"
	"github.com/tidemark/tidemark/query/internal/selection"
)

// sweep is a call about everything that a user has in some partitions.
type sweep struct {
	selection.Pages
	call string // the user of the call
	what string // names the data for errors

	// each and eachThread are called without the lock for all channels and all listed threads; nil:
	// not needed.
	each       func(*projections.InboxEntry)
	eachThread func(*projections.ThreadEntry)
}

// share is the part of a sweep in one partition: in its memory, or in its cold channels.
type share struct {
	partition int32
	cold      *cold.Share // for both: the cold channels
	isCold    bool
	list      *projections.Sweep
	views     *projections.Views // begun and not ended
	at        projections.Position
	done      bool // the pages have this partition's entries
}

// sweep answers w from those of this node's partitions that hold something of the user, each as of
// one position at or after a. If a names a record and the partition has nothing of the user, the
// answer's position is that record, so that a caller who passes it on does not get older data. A
// sweep holds a partition's lock only for a short time, however much the user has
// (projections.Sweep), and not while it reads the store.
func (s *service) sweep(ctx context.Context, ps []int32, a position.After, w *sweep) (asOf []string, err error) {
	if err := s.wait(ctx, a, ps...); err != nil {
		return nil, err
	}
	holding, _, err := s.owners.Here(ps, owners.User(w.User, a))
	if err != nil {
		return nil, err
	}
	shares := make([]share, len(holding))
	for i, p := range holding {
		shares[i].partition = p
	}
	together := len(shares)
	if w.Inbox != nil {
		together = 1 // 100,000 channels are not listed all at once
	}
	for rest := shares; len(rest) > 0; rest = rest[together:] {
		if err := s.sweepShares(ctx, rest[:together], w); err != nil {
			return nil, err
		}
	}
	for i := range shares {
		asOf = s.topics.AsOf(asOf, shares[i].partition, shares[i].at)
	}
	return s.topics.Without(asOf, a, ps, holding), nil
}

// sweepShares is sweep for partitions whose lists are in memory together. If a user has little in a
// partition, one hold of its lock lists, selects and views everything. From longer lists the page
// is selected without the lock, and the next hold makes the views for it if the list is unchanged.
//
// What the user has in cold channels is a list of its own. If other channels are cold when the last
// hold begins, the partition's cold channels are loaded again.
func (s *service) sweepShares(ctx context.Context, parts []share, w *sweep) error {
	colds := make([]cold.Share, len(parts))
	shares := append(make([]share, 0, 2*len(parts)), parts...)
	for i := range shares {
		shares[i].cold, shares[i].list = &colds[i], s.lists.Take(w.User, shares[i].partition, w.Inbox != nil)
	}
	defer func() {
		for i := range shares {
			if shares[i].views != nil { // err has the cause, or a panic is in progress
				shares[i].views.Drop()
			}
			if shares[i].list != nil {
				shares[i].list.Free()
			}
		}
		for i := range colds {
			colds[i].Close()
		}
	}()
	before := w.Copy()
	err := s.selectAll(ctx, shares, w)
	for errors.Is(err, errOtherCold) {
		w.Restore(&before)
		for i := len(parts); i < len(shares); i++ {
			shares[i].list.Free()
		}
		shares = shares[:len(parts)]
		for i := range parts {
			if shares[i].cold.Part != nil {
				list := &projections.Sweep{UserID: w.User, Inbox: w.Inbox != nil, Panel: true}
				shares = append(shares, share{partition: shares[i].partition, cold: shares[i].cold, isCold: true, list: list})
			}
		}
		err = s.selectAll(ctx, shares, w)
	}
	if err != nil {
		return err
	}
	for i := range shares {
		x := &shares[i]
		if w.each != nil {
			x.list.EachChannel(w.each)
		}
		if w.eachThread != nil {
			x.list.EachThread(w.eachThread)
		}
		if !x.isCold && x.list.Large() {
			s.lists.Put(x.partition, x.list)
			x.list = nil
		}
	}
	for i := range parts {
		parts[i].at = shares[i].at
	}
	return nil
}

// errOtherCold is returned after the cold channels of a share were loaded because they are not those
// of the last time.
var errOtherCold = errors.New("other channels are cold")

// selectAll selects the pages, first from as few entries as possible.
func (s *service) selectAll(ctx context.Context, shares []share, w *sweep) error {
	before := w.Copy()
	err := s.selectFrom(ctx, shares, w, w.Inbox == nil)
	if err == nil && w.Inbox == nil && w.Threads.Short() {
		w.Restore(&before)
		err = s.selectFrom(ctx, shares, w, false)
	}
	return err
}

// selectFrom selects the pages from the shares. If bounded, all lists are complete before the first
// thread is selected, and a page may come out short (Selection.Short).
func (s *service) selectFrom(ctx context.Context, shares []share, w *sweep, bounded bool) error {
	var large []*projections.Sweep
	for i := range shares {
		x := &shares[i]
		x.done = false
		err := s.complete(ctx, x, w, func() bool {
			if x.list.Large() {
				return false
			}
			w.Choose(x.list)
			return true
		})
		if err != nil {
			return err
		}
		if !x.done {
			large = append(large, x.list)
		}
	}
	if w.Threads != nil {
		w.Threads.Unbound()
		if bounded && len(large) > 0 {
			w.Threads.Bound(large)
		}
	}
	for i := range shares {
		if x := &shares[i]; !x.done {
			if err := s.selectLarge(ctx, x, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// selectTries is how often a page is selected without the lock. If the list has changed each time
// before the lock was taken again, the page is selected under the lock.
const selectTries = 3

// selectLarge selects the pages from a large and complete list.
func (s *service) selectLarge(ctx context.Context, x *share, w *sweep) error {
	before := w.Copy()
	for tries := 1; !x.done; tries++ {
		w.Restore(&before)
		w.Choose(x.list)
		version := x.list.Version()
		err := s.complete(ctx, x, w, func() bool {
			if x.list.Version() != version {
				if tries < selectTries {
					return false
				}
				w.Restore(&before)
				w.Choose(x.list)
			}
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// complete continues a list until it is complete. If chosen then returns true, under the same hold
// of the lock, the views of the selected entries are begun there, and ended without the lock. A list
// of cold channels needs no lock.
func (s *service) complete(ctx context.Context, x *share, w *sweep, chosen func() bool) error {
	for complete := false; !complete; {
		if ctx.Err() != nil {
			return fault.Unavailable("%s could not be read in time: %v", w.what, ctx.Err())
		}
		x.list.Grow()
		w.Reserve(x.list)
		err := s.readShare(x, w, func(part *projections.Partition) {
			defer part.TimeHold(w.call)()
			if complete = x.list.Step(part); complete && chosen() {
				x.views, x.at = part.BeginViewsIn(&w.Memory), part.Position()
				w.View(x.views)
			}
		})
		if errors.Is(err, errOtherCold) {
			return err
		}
		if err != nil {
			return fault.Unavailable("partition %d cannot be read here: %v", x.partition, err)
		}
	}
	if x.views == nil {
		return nil
	}
	begun := x.views
	x.views, x.done = nil, true
	if err := begun.End(ctx); err != nil {
		return fault.Unavailable("partition %d cannot be read here: %v", x.partition, err)
	}
	return nil
}

// readShare calls fn with what a share reads. If other channels of the user are cold than those that
// were loaded, it loads those and returns errOtherCold.
func (s *service) readShare(x *share, w *sweep, fn func(*projections.Partition)) error {
	if x.isCold {
		fn(x.cold.Part)
		return x.cold.Part.Err()
	}
	same, err := s.readSame(x.partition, w.User, x.cold, fn)
	if err == nil && !same {
		return errOtherCold
	}
	return err
}
