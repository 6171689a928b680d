package projections

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/events"
)

// Partition is one partition's fold and its store.
//
// It is single-writer: Fold*, Skip, Drain and Cut need Lock; the reading methods need RLock.
type Partition struct {
	sync.RWMutex

	id       Identity
	settings Settings
	db       *pebble.DB

	pos          Position
	stored       Position
	logTime      int64 // of chat.messages
	readTime     int64 // of chat.reads
	deliveryTime int64 // of chat.deliveries
	digest       digest
	hot          digest // of the hot records alone
	cuts         uint64 // number of the last cut
	err          atomic.Pointer[error]
	room         *room // for writes; nil before the store is opened

	closing atomic.Bool
	moments sync.WaitGroup // begun under RLock; Close waits for them

	chans       slab[channel]
	rows        slab[row]
	users       slab[userState]
	blobs       blobs
	chanTab     table
	pairTab     table
	userTab     table
	threadTab   table
	threads     []*thread
	follows     slab[follow]
	memberLists []*memberList
	exts        []*ext
	excs        []*exc
	freeExcs    []uint32
	lapses      waitHeap // by horizon
	hints       int      // triggers made since forgetHints
	hintLimit   int

	advances    slab[advance] // receipts since the last cut, through advance.next
	advanced    []advancedChannel
	erasedPairs []erasedPair

	dirtyChans  []uint32
	dirtyGuests map[uint32]struct{}
	dirtyExcs   map[uint32]struct{}

	dirtyThreads map[uint32]struct{}
	dirtyFollows map[uint32]struct{} // by row
	dirtyBytes   int64
	now          *overlay // written since the last cut
	pending      *overlay // of the cut that is not applied yet

	quiet    bool // nobody is told what changes
	outRows  []outRow
	outChans []uint32

	farewells []farewell

	outThreads []uint32
	origins    []byte

	outReceipts     []outReceipt // through outReceipt.next
	outReceiptChans []uint32
	outMerging      []outReceipt

	merging    []advance
	sorted     []advance
	sortKeys   []uint64
	blockBuf   [2][]advance
	scratch    []byte
	sigBuf     []byte
	outBuf     []byte
	sigs       []uint64
	out        events.UnreadDelta
	outChannel events.ChannelRecord
	outRecord  events.ReceiptsRecord
	warmth     warmth
}

func newPartition(id Identity) *Partition {
	return &Partition{
		id: id, settings: id.Settings,
		logTime: minTime, readTime: minTime, deliveryTime: minTime,
		memberLists: make([]*memberList, 1), threads: make([]*thread, 1), exts: make([]*ext, 1), excs: make([]*exc, 1), outReceipts: make([]outReceipt, 1),
		dirtyGuests: map[uint32]struct{}{}, dirtyExcs: map[uint32]struct{}{},
		dirtyThreads: map[uint32]struct{}{}, dirtyFollows: map[uint32]struct{}{},
		now: &overlay{}, hintLimit: 4096,
	}
}

// Skip moves the position of one input to next without folding: bad records, control records, compacted gaps. Going
// back is ignored.
func (p *Partition) Skip(in events.Input, next int64) { p.pos[in] = max(p.pos[in], next) }

// Position is how far the inputs have been folded.
func (p *Partition) Position() Position { return p.pos }

// StoredPosition is the position of the last applied cut.
func (p *Partition) StoredPosition() Position { return p.stored }

// Identity is what the store was opened for.
func (p *Partition) Identity() Identity { return p.id }

// LogTime is the partition's log time (DESIGN §2) in Unix milliseconds, 0 before the first message.
func (p *Partition) LogTime() int64 {
	if p.logTime == minTime {
		return 0
	}
	return p.logTime
}

// Err is the first corruption or I/O error that was met. A partition with an error answers nothing that can be trusted
// and cuts nothing.
func (p *Partition) Err() error {
	if e := p.err.Load(); e != nil {
		return *e
	}
	return nil
}

// Full is why writes are waiting for room on the disk (Options.Full), nil if none is. It takes no lock.
func (p *Partition) Full() error {
	if p.room == nil {
		return nil
	}
	return p.room.full()
}

// corrupt notes the first error; readers may meet one too.
func (p *Partition) corrupt(err error) { p.err.CompareAndSwap(nil, &err) }

// first notes an error and returns the first one, of which it may be a consequence: what could not be written cannot be
// read.
func (p *Partition) first(err error) error {
	p.corrupt(err)
	return p.Err()
}

// Digest is the order-independent hash over all records at the last Cut (DESIGN §5): equal for equal state.
func (p *Partition) Digest() [16]byte { return p.digest.bytes() }

// Stats are sizes for metrics.
type Stats struct {
	Channels, Pairs, Users int
	Waiting                int   // pairs that hold reads
	HotBytes               int64 // memory of the hot state
}

// Stats counts what is in memory.
func (p *Partition) Stats() Stats {
	s := Stats{Channels: p.chans.len(), Pairs: p.rows.len(), Users: p.users.len()}
	for _, x := range p.excs {
		if x != nil && len(x.held) > 0 {
			s.Waiting++
		}
	}
	const advanceBytes = int64(unsafe.Sizeof(advance{}))
	s.HotBytes = p.stateBytes() + p.now.bytes + int64(p.advances.room()+cap(p.merging)+cap(p.sorted))*advanceBytes
	return s
}

// stateBytes is the memory of the hot state, without what waits for the next cut.
func (p *Partition) stateBytes() int64 {
	const (
		chanBytes = int64(unsafe.Sizeof(channel{}))
		rowBytes  = int64(unsafe.Sizeof(row{}))
		userBytes = int64(unsafe.Sizeof(userState{}))
	)
	return int64(p.chans.len())*chanBytes + int64(p.rows.len())*rowBytes + int64(p.users.len())*userBytes +
		p.blobs.bytes() + p.chanTab.bytes() + p.pairTab.bytes() + p.userTab.bytes()
}
