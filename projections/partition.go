package projections

import (
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/giveway"
	"github.com/tidemark/tidemark/projections/internal/loading"
	"github.com/tidemark/tidemark/projections/internal/receipts"
	"github.com/tidemark/tidemark/projections/internal/rules"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/store"
	"github.com/tidemark/tidemark/projections/internal/views"
)

// Partition is the fold of one partition and its store.
//
// One goroutine writes. It holds Lock to call the Fold* methods, Skip and Quiet. Drain,
// DrainRecords and Cut take Lock themselves. The reading methods need RLock.
type Partition struct {
	giveway.RWMutex
	views.Queries
	rules  rules.Fold
	stored views.Stored

	id        Identity
	db        *pebble.DB
	writer    *store.Writer      // writes cuts into db
	records   pebble.Reader      // db, or what it was at one moment
	memory    func() int64       // Options.Memory
	coldReads atomic.Int64       // number of ColdReads
	hand      uint32             // the channel at which rest looks next
	lists     loading.Lists      // of Fetch
	listLater bool               // Options.ListLater
	lister    *loading.Lister    // nil: all cold channels are listed
	applied   Position           // position of the last applied cut
	cuts      uint64             // number of the last cut
	fuse      *store.Fuse        // nil before the store is opened
	planted   func(where string) // as in Options

	outDue      []receipts.Due
	outCondense receipts.Condenser
	merging     []receipts.Entry
	sorter      receipts.Sorter
	byID        arena.Order
	spareDirty  []uint32
	slots       []uint32 // of the dirty channels in State.ReceiptChannels
	mergeMemory int64    // memory of these, for readers
	batchMemory int64    // memory of the outstanding cut's batch
	blockBuf    [2][]receipts.Entry
	outBuf      []byte
	outRead     []byte // id of the delta's last_read
	outFanOut   state.FanOut
	outMembers  []uint32 // rows of the channel that is fanned out
	out         events.UnreadDelta
	outChannel  events.ChannelRecord
	outRecord   events.ReceiptsRecord

	// For tests and benches; nil otherwise.
	onHold func(cause string) (done func()) // Options.OnHold
	onStep func()                           // called between two steps of a cut
	onRead func()                           // called before a record is read from the store
}

// StoredPosition returns the position of the last applied cut.
func (p *Partition) StoredPosition() Position { return p.applied }

// Identity returns the identity that the store was opened with.
func (p *Partition) Identity() Identity { return p.id }

// Full returns the error for which writes wait until the disk has space again (Options.Full), or
// nil if none waits. It takes no lock.
func (p *Partition) Full() error {
	if p.fuse == nil {
		return nil
	}
	return p.fuse.Full()
}

// Disk describes the space that a store uses on its disk.
type Disk = store.Disk

// Disk returns the store's use of its disk. The partition must be open.
func (p *Partition) Disk() Disk { return p.fuse.Disk(p.db) }

// Stats are sizes for metrics.
type Stats struct {
	Channels, Pairs, Users int
	Waiting                int   // pairs that hold reads
	HotBytes               int64 // memory of the hot state
	ColdChannels           int   // channels that are in the store only
	ColdPairs              int   // pairs in them
	Loaded                 int64 // how often a cold channel has come back for an event
	ColdReads              int64 // how often queries read cold channels
}

// Stats returns the sizes of what is in memory.
func (p *Partition) Stats() Stats {
	s := Stats{Channels: p.rules.Channels.Len(), Pairs: p.rules.Rows.Len() - p.rules.VacantRows, Users: p.rules.Users.Len() + p.rules.Cold.UserCount - p.rules.UsersInBoth, ColdPairs: p.rules.Cold.Pairs, Loaded: p.rules.Cold.Loaded, ColdReads: p.coldReads.Load()}
	s.ColdChannels = p.rules.Cold.Count
	if p.lister != nil {
		left := p.lister.Left()
		s.ColdChannels, s.ColdPairs = s.ColdChannels+left.Channels, s.ColdPairs+left.Pairs
	}
	s.Channels, s.Pairs = s.Channels+s.ColdChannels, s.Pairs+s.ColdPairs
	p.rules.PairExtras.Each(func(x *state.PairExtra) {
		if len(x.Unsettled) > 0 {
			s.Waiting++
		}
	})
	s.HotBytes = p.hotBytes()
	return s
}

// hotBytes returns the memory that the partition holds, as the heap counts it: whole chunks and
// whole size classes, in use or free for reuse. It leaves out the lists of the next drain and the
// next cut. Those belong to the goroutine that folds, and are small compared with the rows that
// they name. The caller holds RLock.
func (p *Partition) hotBytes() int64 {
	n := arena.SlabBytes(&p.rules.Channels) + arena.SlabBytes(&p.rules.Rows) + arena.SlabBytes(&p.rules.Rares) + arena.SlabBytes(&p.rules.Users) + arena.SlabBytes(&p.rules.Follows) + arena.SlabBytes(&p.rules.ReceiptEntries)
	n += p.rules.ChannelTable.Bytes() + p.rules.PairTable.Bytes() + p.rules.UserTable.Bytes() + p.rules.ThreadTable.Bytes()
	n += p.rules.Blobs.HeapBytes() + p.rules.Written.Now.HeapBytes() + p.stored.Pending.HeapBytes()
	n += arena.PoolBytes(&p.rules.Threads, (*state.Thread).HeapBytes) + arena.PoolBytes(&p.rules.MemberLists, (*state.MemberList).HeapBytes) + arena.PoolBytes(&p.rules.OtherRows, (*state.OtherRows).HeapBytes)
	n += arena.PoolBytes(&p.rules.ChannelExtras, (*state.ChannelExtra).HeapBytes) + arena.PoolBytes(&p.rules.PairExtras, (*state.PairExtra).HeapBytes) + arena.ListBytes(p.rules.Lapses)
	n += p.rules.Cold.Bytes() + arena.MapBytes(p.rules.VacantUsers) + arena.MapBytes(p.rules.VacantThreads)
	return n + p.mergeMemory + p.batchMemory
}
