package projections

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// TopicIdentity is a topic as the cluster knows it: a topic that was deleted and created again has another ID.
type TopicIdentity struct {
	Name string
	ID   [16]byte
}

// Identity is what a store belongs to; Open refuses a store whose header says otherwise.
type Identity struct {
	ClusterID  string
	Topics     [events.NumInputs]TopicIdentity
	Partition  int32
	Partitions int32
	Settings   Settings
}

// Options are the means a store is given. The zero value works.
type Options struct {
	FS     vfs.FS        // nil: the operating system's
	Cache  *pebble.Cache // shared by the stores of a process; nil: a small one of its own
	Logger pebble.Logger // nil: silent but for fatal errors, which become errors of the store
}

// Partition is one partition's fold and its store.
//
// Fold*, Skip, Drain and Cut need Lock; the reading methods need RLock.
type Partition struct {
	sync.RWMutex
}

// Open opens or creates the store in dir.
func Open(dir string, id Identity, o Options) (*Partition, error) { panic("stub") }

// Close closes the store without writing anything.
func (p *Partition) Close() error { panic("stub") }

// FoldMessage folds the record of chat.messages at offset; timestamp is the record's, in Unix milliseconds.
func (p *Partition) FoldMessage(m *events.Message, offset, timestamp int64) Outcome { panic("stub") }

// FoldRead folds the record of chat.reads at offset.
func (p *Partition) FoldRead(r *events.Read, offset, timestamp int64) Outcome { panic("stub") }

// FoldDelivery folds the record of chat.deliveries at offset.
func (p *Partition) FoldDelivery(d *events.Delivery, offset, timestamp int64) Outcome { panic("stub") }

// Skip moves the position of one input to next without folding: bad records, control records, compacted gaps.
func (p *Partition) Skip(in events.Input, next int64) { panic("stub") }

// OutTopic says which output topic a record is for.
type OutTopic uint8

// Output topics.
const (
	OutUnread OutTopic = iota
	OutChannels
)

// OutRecord is one record to publish. Its slices live until the Deltas it is in is Reset.
type OutRecord struct {
	Topic     OutTopic
	Partition int32
	Key       []byte
	Value     []byte
	UserID    []byte // OutUnread only
	ChannelID []byte
}

// Deltas collects what Drain emits; reuse it to reuse its memory.
type Deltas struct {
	Records []OutRecord
}

// Reset empties d and makes the slices of its records invalid.
func (d *Deltas) Reset() { d.Records = d.Records[:0] }

// Drain appends a record for everything that changed since the last Drain. With fanout false it leaves out what
// messages changed for the other members of small channels (these stay for a later call): then the position must not be
// committed nor cut. FanoutPending says whether there is any.
func (p *Partition) Drain(d *Deltas, fanout bool) { panic("stub") }

// FanoutPending reports whether Drain(d, true) would emit deltas that Drain(d, false) would not.
func (p *Partition) FanoutPending() bool { panic("stub") }

// DirtyBytes estimates what the next Cut will write.
func (p *Partition) DirtyBytes() int64 { panic("stub") }

// Cut encodes all dirty state with the present position and digest. Nothing is written until Apply. Only one cut may
// be outstanding.
func (p *Partition) Cut() (*Cut, error) { panic("stub") }

// Cut is dirty state with the position it stands for, encoded and not yet written.
type Cut struct {
	Position Position
}

// Apply writes the cut (NoSync). It takes no lock but a short one at its end; folding goes on meanwhile.
func (c *Cut) Apply() error { panic("stub") }

// Position is how far the inputs have been folded.
func (p *Partition) Position() Position { panic("stub") }

// StoredPosition is the position of the last applied cut.
func (p *Partition) StoredPosition() Position { panic("stub") }

// LogTime is the partition's log time (DESIGN §2), 0 before the first message.
func (p *Partition) LogTime() int64 { panic("stub") }

// View is what userID sees of channelID; false: no such channel (never seen, or deleted).
func (p *Partition) View(userID, channelID string) (View, bool) { panic("stub") }

// Channel describes a channel; false: never seen, or deleted.
func (p *Partition) Channel(channelID string) (ChannelView, bool) { panic("stub") }

// InboxEntry is the part of a View that an inbox sorts and sums by.
type InboxEntry struct {
	ChannelID []byte // borrowed, valid during the call
	Unread    uint32
	Mentions  uint32
	Muted     bool
	LatestAt  int64 // Unix milliseconds; 0 = the channel has no live counted message
}

// Inbox calls fn for every channel of this partition that userID is a member of, in no order, until fn returns false.
func (p *Partition) Inbox(userID string, fn func(*InboxEntry) bool) error { panic("stub") }

// Explain says which messages are behind the unread number; false as in View.
func (p *Partition) Explain(userID, channelID string) (Explanation, bool) { panic("stub") }

// Digest is the order-independent hash over all records, equal for equal state (DESIGN §5).
func (p *Partition) Digest() [16]byte { panic("stub") }

// Stats are sizes for metrics.
type Stats struct {
	Channels, Pairs, Users, Waiting int
	HotBytes                        int64
}

// Stats counts what is in memory.
func (p *Partition) Stats() Stats { panic("stub") }
