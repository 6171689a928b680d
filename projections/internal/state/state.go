package state

import (
	"sync/atomic"
	"unsafe"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/overlay"
	"github.com/tidemark/tidemark/projections/internal/receipts"
)

// State is what the rules read and change: channels, users and pairs, how far the inputs were
// folded, and the marks that tell the work (drains, cuts, loads, views) what has changed. It knows
// no database and no lock.
type State struct {
	Settings identity.Settings
	Backing  Backing
	err      atomic.Pointer[error]

	Positions    identity.Position
	MessageTime  int64 // of chat.messages
	ReadTime     int64 // of chat.reads
	DeliveryTime int64 // of chat.deliveries

	Channels       arena.Slab[Channel]
	Rows           arena.Slab[Row]
	Users          arena.Slab[User]
	Blobs          arena.Blobs
	ChannelTable   arena.Table
	PairTable      arena.Table
	UserTable      arena.SharedTable // of every user of whom anything is in memory
	ThreadTable    arena.Table
	Threads        arena.Pool[Thread]
	Follows        arena.Slab[Follow]
	MemberLists    arena.Pool[MemberList]
	SeededChannels int // channels that begin with seeded messages
	SaidPairs      int // pairs with a Said, channels with ChannelUpdated or ChannelNewFormat; also those not in memory
	ChannelExtras  arena.Pool[ChannelExtra]
	PairExtras     arena.Pool[PairExtra]
	Lapses         WaitHeap // by horizon
	Hints          int      // triggers made since forgetHints
	HintLimit      int

	Cold          arena.ColdSet
	Vacated       []uint32 // users of rows that were vacated since leaveUsers
	VacantRows    int
	VacantUsers   map[uint32]Vacant // by user
	VacantThreads map[uint32]Vacant // by channel

	Marks
	Written overlay.Written

	Scratch []byte
	SigBuf  []byte
	Sigs    []uint64
	Warmth  Warmth
}

// Marks are what the rules leave for the work. A mark names what has changed and carries no bytes
// of it.
type Marks struct {
	// For the next cut.
	ReceiptEntries  arena.Slab[receipts.Entry] // receipts since the last cut, through advance.next
	ReceiptChannels []ReceiptChannel
	ErasedPairs     []ErasedPair
	DirtyChannels   []uint32
	DirtyGuests     map[uint32]struct{}
	DirtyPairExtras map[uint32]struct{}
	DirtyThreads    map[uint32]struct{}
	DirtyFollows    map[uint32]struct{} // by row
	MarkedBytes     int64
	Leaving         []uint32 // channels that are gone and leave memory behind the next cut
	Unannounced     []uint32 // channels that the last cut wrote, of which chat.messages has said nothing

	// For the next drain.
	Replaying          bool // nobody is told what changes
	OutRows            []OutRow
	OutChannels        []uint32
	OutThreads         []uint32
	OutReceipts        []OutReceipt // through OutReceipt.next
	OutReceiptChannels []uint32
	Retractions        []Retraction
	Origins            []byte // of reads, and ids of farewells
}

// Backing is what the rules ask of the store. They ask it only for what memory does not have.
type Backing interface {
	// Stored returns the record under key, but for what was written since the last cut; ok is false
	// if there is none. The bytes must not be changed.
	Stored(key []byte) (val []byte, ok bool, err error)
	// Scan calls fn for every record under prefix as it is now, in no order. fn may write.
	Scan(prefix []byte, fn func(key, val []byte)) error
	// LoadCold loads a channel that is in the store alone.
	LoadCold(ci uint32, c *Channel, id []byte) error
}

// Begin makes an empty state.
func (p *State) Begin(settings identity.Settings, b Backing) {
	p.Settings, p.Backing = settings, b
	p.MessageTime, p.ReadTime, p.DeliveryTime = MinTime, MinTime, MinTime
	p.OutReceipts = make([]OutReceipt, 1)
	p.DirtyGuests, p.DirtyPairExtras = map[uint32]struct{}{}, map[uint32]struct{}{}
	p.DirtyThreads, p.DirtyFollows = map[uint32]struct{}{}, map[uint32]struct{}{}
	p.VacantUsers, p.VacantThreads = map[uint32]Vacant{}, map[uint32]Vacant{}
	p.Written = overlay.Written{Now: &overlay.Overlay{}}
	p.HintLimit = 4096
}

// Get returns the record under key; ok is false if there is none. The bytes must not be changed.
func (p *State) Get(key []byte) (val []byte, ok bool, err error) {
	if v, deleted, known := p.Written.Now.Get(key); known {
		return v, !deleted, nil
	}
	return p.Backing.Stored(key)
}

// Skip moves the position of one input to next without folding: bad records, control records,
// compacted gaps. Going back is ignored.
func (p *State) Skip(in events.Input, next int64) { p.Positions[in] = max(p.Positions[in], next) }

// Position is how far the inputs have been folded.
func (p *State) Position() identity.Position { return p.Positions }

// LogTime is the partition's log time (DESIGN §2) in Unix milliseconds, 0 before the first message.
func (p *State) LogTime() int64 {
	if p.MessageTime == MinTime {
		return 0
	}
	return p.MessageTime
}

// Err is the first corruption or I/O error that was met. A partition with an error answers nothing
// that can be trusted and cuts nothing.
func (p *State) Err() error {
	if e := p.err.Load(); e != nil {
		return *e
	}
	return nil
}

// Fail notes the first error; readers may meet one too.
func (p *State) Fail(err error) { p.err.CompareAndSwap(nil, &err) }

// FirstError notes an error and returns the first one, of which it may be a consequence: what could
// not be written cannot be read.
func (p *State) FirstError(err error) error {
	p.Fail(err)
	return p.Err()
}

// Digest is the order-independent hash over all records at the last Cut (DESIGN §5): equal for
// equal state.
func (p *State) Digest() [16]byte { return p.Written.Digest.Bytes() }

// stateBytes is the memory of channels, pairs, users and ids in use: what a cut may be measured by
// at no cost.
func (p *State) stateBytes() int64 {
	const (
		chanBytes = int64(unsafe.Sizeof(Channel{}))
		rowBytes  = int64(unsafe.Sizeof(Row{}))
		userBytes = int64(unsafe.Sizeof(User{}))
	)
	return int64(p.Channels.Len())*chanBytes + int64(p.Rows.Len())*rowBytes + int64(p.Users.Len())*userBytes +
		p.Blobs.Bytes() + p.ChannelTable.Bytes() + p.PairTable.Bytes() + p.UserTable.Bytes()
}

// DirtyBytes estimates what the next Cut will write.
func (p *State) DirtyBytes() int64 { return p.MarkedBytes + p.Written.Now.Bytes }

// RareCut is how much may be dirty, in bytes as DirtyBytes counts them, where nobody needs a recent
// store nor waits for what is locked while it is cut: a share of what is in memory. A cut writes a
// page for each channel that changed, so the more channels there are the longer it takes until an
// event costs less than a page of its own: with 5 million pairs a cut for each 32 MiB costs three
// times what all else does.
func (p *State) RareCut() int64 { return RareCut(p.stateBytes()) }

// RareCut has an upper limit so that a cut stays far from the 4 GiB that a batch of Pebble can
// hold: a page of long ids is some times larger than DirtyBytes takes it for.
func RareCut(stateBytes int64) int64 {
	const share, most = 4, 256 << 20
	return min(stateBytes/share, most)
}
