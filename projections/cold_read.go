package projections

import (
	"bytes"
	"slices"

	"github.com/tidemark/tidemark/projections/internal/cold"
	"github.com/tidemark/tidemark/projections/internal/giveway"
	"github.com/tidemark/tidemark/projections/internal/loading"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// ColdRead reads cold channels for queries. It loads them into a Partition of its own, which is as
// of one position, so that queries neither change the memory of the partition nor hold its lock
// while they wait for the disk.
//
// A ColdRead begins under RLock. Load and Close are called without a lock, and Close always. The
// store is not closed before all its ColdReads are.
type ColdRead struct {
	of    *Partition
	lists []*loading.List
	mark  uint64 // of ColdOf: which channels were cold
	part  *Partition
}

// ColdChannel begins a read of one channel. It returns nil if the channel is in memory, or readers
// do not know it. Until the partition is Listed, the read may find that readers do not know it. The
// caller holds RLock.
func (p *Partition) ColdChannel(channelID string) *ColdRead {
	if !p.IsCold(channelID) {
		return nil
	}
	id := []byte(channelID)
	return p.coldRead([]*loading.List{loading.NewList(id, p.rules.Cold.Find(id))})
}

// IsCold reports whether readers know a channel that is not in memory, or may know it until the
// partition is Listed. The caller holds RLock.
func (p *Partition) IsCold(channelID string) bool {
	id := []byte(channelID)
	return p.rules.Cold.Has(id) || p.rules.Cold.MayBeUnlisted(id) && p.rules.ChannelOf(id) == 0
}

// ColdOf begins a read of all cold channels in which a user may have something. It returns nil if
// there are none. The partition must be Listed. The caller holds RLock.
func (p *Partition) ColdOf(userID string) *ColdRead {
	var lists []*loading.List
	mark := p.eachCold(userID, func(c *cold.Channel) {
		lists = append(lists, loading.NewList(bytes.Clone(p.rules.Blobs.Get(c.ID)), c))
	})
	if lists == nil {
		return nil
	}
	r := p.coldRead(lists)
	r.mark = mark
	return r
}

// SameCold reports whether a read that ColdOf began, or nil for none, still has exactly the cold
// channels of a user, and nothing was folded into one of them meanwhile. The partition must be Listed.
// The caller holds RLock.
func (p *Partition) SameCold(userID string, r *ColdRead) bool {
	mark := p.eachCold(userID, func(*cold.Channel) {})
	if r == nil {
		return mark == 0
	}
	return mark == r.mark
}

// eachCold is cold.Set.Mark for a user.
func (p *Partition) eachCold(userID string, fn func(*cold.Channel)) uint64 {
	return p.rules.Cold.Mark(state.IDHash([]byte(userID)), fn)
}

func (p *Partition) coldRead(lists []*loading.List) *ColdRead {
	p.stored.Open.Add(1)
	p.coldReads.Add(1)
	giveway.Begin()
	part := newPartition(p.id)
	part.rules.Blobs.Small = true
	part.ThreadsAlways, part.records, part.stored.Pending = p.ThreadsAlways, p.db.NewSnapshot(), p.stored.Pending
	part.rules.Positions = p.rules.Positions
	part.rules.MessageTime, part.rules.ReadTime, part.rules.DeliveryTime = p.rules.MessageTime, p.rules.ReadTime, p.rules.DeliveryTime
	return &ColdRead{of: p, lists: lists, part: part}
}

// Load loads the channels. The returned Partition answers queries about them as of the position at
// which the read began; it must neither fold nor cut. Load returns ErrClosing once the store is to
// be closed.
func (r *ColdRead) Load() (*Partition, error) {
	for lists := range slices.Chunk(r.lists, coldAtOnce) {
		if err := r.of.stored.Stop(); err != nil {
			return nil, err
		}
		// A list of a user may name a channel twice.
		lists = slices.DeleteFunc(lists, func(l *loading.List) bool { return r.part.rules.ChannelOf(l.ID) != 0 })
		cold, err := r.part.readLists(lists)
		if err != nil {
			return nil, r.part.rules.FirstError(r.of.wrong(err))
		}
		for _, x := range cold {
			if _, _, err := (loading.Loader{Fold: &r.part.rules}).List(x); err != nil {
				return nil, r.part.rules.FirstError(r.of.wrong(err))
			}
		}
	}
	return r.part, r.part.Err()
}

// coldAtOnce is how many channels Load reads before it looks whether the store is to be closed.
const coldAtOnce = 256

// Cold reports whether p was loaded by a ColdRead.
func (p *Partition) Cold() bool { return p.db == nil }

// Close ends the read. An error of the store becomes the partition's error.
func (r *ColdRead) Close() {
	if r == nil {
		return
	}
	defer r.of.stored.Open.Done()
	defer giveway.End()
	err := r.part.rules.Err()
	if closed := r.part.records.Close(); err == nil {
		err = closed
	}
	if err != nil {
		r.of.rules.Fail(err)
	}
}
