package state

import (
	"sync/atomic"
	"unsafe"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/cold"
	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/overlay"
	"github.com/tidemark/tidemark/projections/internal/receipts"
)

// State is the data of the rules: channels, users and pairs, the positions of the inputs, and the
// marks that tell the work (drains, cuts, loads, views) what has changed. It uses no database and
// no lock.
type State struct {
	Settings identity.Settings
	Backing  Backing
	err      atomic.Pointer[error]

	Positions    identity.Position
	MessageTime  int64 // log time of chat.messages
	ReadTime     int64 // log time of chat.reads
	DeliveryTime int64 // log time of chat.deliveries

	Channels       arena.Slab[Channel]
	Rows           arena.Slab[Row]
	Rares          arena.Slab[Rare]
	whole          Rare // what Whole returns for a row without a Rare
	Users          arena.Slab[User]
	Blobs          arena.Blobs
	ChannelTable   arena.Table
	PairTable      arena.QuotientTable
	UserTable      arena.SharedTable // all users of whom anything is in memory
	ThreadTable    arena.Table
	Threads        arena.Pool[Thread]
	Follows        arena.Slab[Follow]
	MemberLists    arena.Pool[MemberList]
	OtherRows      arena.Pool[OtherRows]
	Endings        []Ending   // by channel; see ending.go
	Due            arena.Heap // channels with blocks to trim, by Ending.Next
	SeededChannels int        // number of channels that begin with seeded messages
	Customized     int        // number of pairs with UserSettings and of channels with ChannelUpdated or ChannelNewFormat, in memory or not
	ChannelExtras  arena.Pool[ChannelExtra]
	PairExtras     arena.Pool[PairExtra]
	Lapses         arena.Heap // by horizon
	Hints          int        // triggers registered since forgetHints
	HintLimit      int

	UsersInBoth   int // number of users who are in memory and have a list in Cold
	Cold          cold.Set
	Vacated       []uint32 // users of rows that were vacated since leaveUsers
	VacantRows    int
	VacantUsers   map[uint32]arena.Vacant // by user
	VacantThreads map[uint32]arena.Vacant // by channel

	Marks
	Written overlay.Written

	Scratch []byte
	// KeyScratch has the key of a record that is being written. Queries do not use it.
	KeyScratch [keys.Buf + keys.MaxID]byte
	SigBuf     []byte
	Sigs       []uint64
	Warmth     Warmth
}

// Marks are the results of the rules for the work. A mark names what has changed, without its
// bytes.
type Marks struct {
	// For the next cut.
	ReceiptEntries  arena.Slab[receipts.Entry] // receipts since the last cut, linked through Entry.Next
	ReceiptChannels []receipts.Group
	ErasedPairs     []ErasedPair
	DirtyChannels   []uint32
	DirtyGuests     map[uint32]struct{}
	DirtyPairExtras map[uint32]struct{}
	DirtyThreads    map[uint32]struct{}
	DirtyFollows    map[uint32]struct{} // by row
	MarkedBytes     int64
	Leaving         []uint32 // channels that are gone and leave memory after the next cut
	Unannounced     []uint32 // channels that the last cut wrote and no record of chat.messages has named

	// For the next drain.
	Replaying          bool // changes are not published
	OutRows            []OutRow
	OutChannels        []uint32
	OutMembers         int // members of the channels in OutChannels with OutMembersChanged, as they were when marked
	OutThreads         []uint32
	OutReceipts        []receipts.Out
	OutReceiptChannels []receipts.Group
	OutErased          receipts.Erased
	Retractions        []Retraction
	Origins            []byte // origins of reads, and ids of farewells
}

// Backing gives the rules access to the store. They use it only for records that are not in memory.
type Backing interface {
	// Stored returns the record under key, without changes since the last cut. ok reports whether
	// there is one. The caller must not change the bytes.
	Stored(key []byte) (val []byte, ok bool, err error)
	// Scan calls fn for every record under prefix as it is now, in no particular order. fn may
	// write.
	Scan(prefix []byte, fn func(key, val []byte)) error
	// LoadCold loads a channel that is in the store only.
	LoadCold(ci uint32, c *Channel, id []byte) error
}

// Begin initializes an empty state.
func (p *State) Begin(settings identity.Settings, b Backing) {
	p.Settings, p.Backing = settings, b
	p.MessageTime, p.ReadTime, p.DeliveryTime = MinTime, MinTime, MinTime
	p.DirtyGuests, p.DirtyPairExtras = map[uint32]struct{}{}, map[uint32]struct{}{}
	p.DirtyThreads, p.DirtyFollows = map[uint32]struct{}{}, map[uint32]struct{}{}
	p.VacantUsers, p.VacantThreads = map[uint32]arena.Vacant{}, map[uint32]arena.Vacant{}
	p.Written = overlay.Written{Now: &overlay.Overlay{}}
	p.HintLimit = 4096
	p.Cold.Blobs = &p.Blobs
	p.PairTable.HashOf = p.pairHash
}

// Get returns the record under key. ok reports whether there is one. The caller must not change the
// bytes.
func (p *State) Get(key []byte) (val []byte, ok bool, err error) {
	if v, deleted, known := p.Written.Now.Get(key); known {
		return v, !deleted, nil
	}
	return p.Backing.Stored(key)
}

// Skip moves the position of one input to next without folding, past bad records, control records
// and compacted gaps. It ignores a next below the position.
func (p *State) Skip(in events.Input, next int64) { p.Positions[in] = max(p.Positions[in], next) }

// Position returns how far the inputs have been folded.
func (p *State) Position() identity.Position { return p.Positions }

// LogTime returns the partition's log time (DESIGN §2) in Unix milliseconds, 0 before the first
// message.
func (p *State) LogTime() int64 {
	if p.MessageTime == MinTime {
		return 0
	}
	return p.MessageTime
}

// Err returns the first corruption or I/O error. After an error a partition's answers cannot be
// trusted, and it makes no more cuts.
func (p *State) Err() error {
	if e := p.err.Load(); e != nil {
		return *e
	}
	return nil
}

// Fail records an error if it is the first. Readers may call it too.
func (p *State) Fail(err error) { p.err.CompareAndSwap(nil, &err) }

// FirstError records an error and returns the first one. Later errors may be consequences: a record
// that could not be written cannot be read.
func (p *State) FirstError(err error) error {
	p.Fail(err)
	return p.Err()
}

// Digest returns the order-independent hash over all records at the last Cut (DESIGN §5). Equal
// state has equal digests.
func (p *State) Digest() [16]byte { return p.Written.Digest.Bytes() }

// stateBytes returns the memory of channels, pairs, users and ids in use. It is a measure for cuts
// that costs nothing to compute.
func (p *State) stateBytes() int64 {
	const (
		chanBytes = int64(unsafe.Sizeof(Channel{}))
		rowBytes  = int64(unsafe.Sizeof(Row{}))
		rareBytes = int64(unsafe.Sizeof(Rare{}))
		userBytes = int64(unsafe.Sizeof(User{}))
	)
	return int64(p.Channels.Len())*chanBytes + int64(p.Rows.Len())*rowBytes + int64(p.Rares.Len())*rareBytes + int64(p.Users.Len())*userBytes +
		p.Blobs.Bytes() + p.ChannelTable.Bytes() + p.PairTable.Bytes() + p.UserTable.Bytes()
}

// DirtyBytes estimates what the next Cut will write.
func (p *State) DirtyBytes() int64 { return p.MarkedBytes + p.Written.Now.Bytes }

// RareCut returns how many bytes may be dirty, as DirtyBytes counts them, when nobody needs a
// recent store or waits for a cut's lock. The limit is a share of the memory in use. A cut writes a
// page for each changed channel, so with more channels it takes more dirty bytes until an event
// costs less than a whole page. With 5 million pairs, a cut for each 32 MiB costs three times as
// much as everything else.
func (p *State) RareCut() int64 { return RareCut(p.stateBytes()) }

// RareCut has an upper limit, so that a cut stays far below the 4 GiB that a Pebble batch can hold:
// DirtyBytes underestimates a page of long ids several times.
func RareCut(stateBytes int64) int64 {
	const share, most = 0.4, 256 << 20
	return min(int64(share*float64(stateBytes)), most)
}
