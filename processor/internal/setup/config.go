package setup

import (
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/trace"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// Topics are the topic names of a processor. An empty name means the one of package events.
type Topics struct {
	Inputs      [events.NumInputs]string
	Unread      string
	Channels    string
	Receipts    string
	DeadLetters string
}

// Config configures a processor. Brokers, Group and Settings must be set; Run also needs DataDir.
// All other fields may be zero.
type Config struct {
	// Brokers are the seed addresses.
	Brokers []string
	// ClientOptions are added to the client's options: TLS, SASL, a dialer, InstanceID. They must
	// not set up consuming or producing, except for time limits: the processor does that itself.
	ClientOptions []kgo.Opt
	// Group is the consumer group.
	Group string
	// Topics names inputs and outputs. Inputs, Unread and Channels must have the same number of
	// partitions.
	Topics Topics
	// DataDir has a store for each partition that was owned. Two processes must not share it.
	// Without it the processor cannot Run; it can only find the owners of partitions.
	DataDir string
	// Settings are the settings of the fold; see projections.DefaultSettings.
	Settings projections.Settings
	// Advertise is the URL at which other nodes reach this node's query service; empty: they
	// cannot.
	Advertise string

	// Cache is the block cache that all stores share; nil: a small one for each store. It must be
	// larger than twice MemTableSize for each partition.
	Cache *pebble.Cache
	// MemTableSize is the size of each store's memtable, in bytes; 0: the default of projections.
	MemTableSize uint64
	// FS is the file system of the stores; nil: the operating system's.
	FS vfs.FS

	// BatchRecords is how many records are folded, at most, before their changes are published;
	// 10,000 by default. While a batch is being published, up to four times as many are folded for
	// the next. A partition that is behind folds more (JoinDelay).
	BatchRecords int
	// UndrainedPairs is how many pairs may change in a partition before their deltas are published,
	// whatever the number of records; 262,144 by default. In an import of memberships each record
	// names thousands of users, and a delta takes some 600 bytes until it is acknowledged. Pairs
	// that wait for the fan-out count only in a partition that joins its changes (JoinDelay): with so
	// many pairs, or as many records, it joins no longer.
	UndrainedPairs int
	// BatchTime is how long, at most, records are folded before their changes are published; 20 ms
	// by default. A single record does not wait.
	BatchTime time.Duration
	// FanoutDelay is how long, at most, deltas of other members are collected while there is a
	// backlog or channels are busy (200 us for each delta that was published last); 250 ms by
	// default.
	FanoutDelay time.Duration
	// JoinDelay is how long, at most, a partition that is behind joins all deltas, those of users' own
	// reads too; 1 s by default. It joins them for an eighth of how far it is behind, if that is
	// longer than FanoutDelay. BatchRecords and BatchTime do not apply then.
	JoinDelay time.Duration
	// CutEvery and CutBytes set when the store is written: this long after the last time, ten times
	// as long if more than 256 KiB are dirty and folding has not taken 100 ms beside cold channels,
	// or when CutBytes are dirty; DefaultCutEvery and DefaultCutBytes if they are 0. So ten times
	// CutEvery bounds what is folded again after a crash; beside cold channels, one second more, in
	// which a cut waits for the group's offsets. In a partition that replays (opening, standby,
	// rebuild) a quarter of its memory may be dirty, up to 256 MiB, if that is more.
	CutEvery time.Duration
	CutBytes int64
	// HotBytes limits the memory of channels, users and pairs, over all stores that are open: each
	// has an equal share. Channels that no event has named for some time leave memory and come back
	// with the next event that names them. 0 means no limit.
	HotBytes int64
	// CommitEvery is the least time between two commits of group offsets; 100 ms by default. It
	// bounds what is published again after a crash.
	CommitEvery time.Duration
	// QueueBytes limits the fetched records that wait to be folded, over all partitions; 128 MiB by
	// default. A partition's input may always hold at least 2 MiB.
	QueueBytes int64
	// MergeWait is how long, at most, the others wait for an input that is behind, so that records
	// are folded in the order of their timestamps; 1 s by default.
	MergeWait time.Duration
	// Standbys is how many other members follow each partition, so that one of them takes over at
	// once when its owner fails; 0 by default. Members of a group should agree; otherwise the
	// largest number applies.
	Standbys int
	// NearRecords is how many records the new owner of a partition may lack of the old one's
	// position when a healthy owner hands the partition over; 20,000 by default. A new owner that
	// lacks more tails the partition first.
	NearRecords int64
	// StandbyEvery is how often a standby reads the group's offsets, up to which it may fold; 250
	// ms by default.
	StandbyEvery time.Duration
	// InstanceID makes the member static: a process that comes back with the same id within the
	// session timeout gets its partitions again and nothing moves. It must be unique in the group;
	// empty: a dynamic member.
	InstanceID string
	// SessionTimeout is how long a member may be silent before the group gives its partitions to
	// others; 10 s by default.
	SessionTimeout time.Duration
	// StopTimeout bounds how long a partition may take to finish when it is revoked; 30 s by
	// default. It must be below the group's rebalance timeout, which is twice that if ClientOptions
	// do not set it.
	StopTimeout time.Duration
	// ShutdownTimeout limits the end of Run, even if brokers or disks hang; 7 s by default. Its
	// parts share it: finishing the partitions has at most half of it.
	ShutdownTimeout time.Duration
	// Skip lists records that go to the dead letters instead of the fold, such as the one that a
	// parked partition names. The state is then that of the logs without them, so every node of the
	// group, and every rebuild, needs the same list.
	Skip []events.RecordID
	// Breaker sets when a partition with too many bad records stops.
	Breaker Breaker

	// Snapshots is the repository to which snapshots of the stores are uploaded and from which they
	// are restored; nil: no snapshots.
	Snapshots *snapshot.Repository
	// SnapshotEvery is the time between two snapshots of a partition; 0: none are taken.
	SnapshotEvery time.Duration

	// StoreRetention is how long the store of a partition stays on disk that this member neither
	// owns nor follows; 0: forever.
	StoreRetention time.Duration

	// ThreadsAlways lists followed threads at any age (projections.Options.ThreadsAlways). Nodes of
	// a group should agree.
	ThreadsAlways bool

	// ClientProduces leaves the producing of all output records to the Kafka client's own producer.
	// By default it produces the dead letters only.
	ClientProduces bool
	// ClientConsumes leaves the fetching of all input records to the Kafka client's own consumer. By
	// default it fetches inputs that are not far behind.
	ClientConsumes bool

	// OnHold is called after each hold of a partition's lock (projections.Options.OnHold). It is
	// for benches.
	OnHold func(cause string) (done func())
	// Trace begins the spans of records that carry a sampled traceparent; nil: none.
	Trace trace.Tracer
	// Registerer gets the metrics; nil: they are kept but not registered.
	Registerer prometheus.Registerer
	// Logger logs the processor's events; nil: no logs.
	Logger *slog.Logger

	hooks Hooks
}

// Defaults of CutEvery and CutBytes. A rebuild writes its stores less often than a node: nothing
// reads them before it ends, and after a crash it only folds those seconds again.
const (
	DefaultCutEvery = time.Second
	RebuildCutEvery = 5 * time.Second
	DefaultCutBytes = 32 << 20
)

// ReasonSkipped is the reason of a dead letter that Config.Skip asked for.
const ReasonSkipped events.Reason = "skipped"

// Breaker sets when a partition stops because too many of its records are bad, so that a broken
// deploy does not fill the dead letters. The zero value is that of DESIGN §3: more than half of the
// last 1,000 records, and at least 200.
type Breaker struct {
	// Off never stops a partition, for an operator who knows the bad records and wants them in the
	// dead letters.
	Off bool
	// Window is how many of the last records count.
	Window int
	// Least is how many of them must be bad, whatever their share.
	Least int
}

func (b Breaker) withDefaults() Breaker {
	if b.Window <= 0 {
		b.Window = 1000
	}
	if b.Least <= 0 {
		b.Least = 200
	}
	return b
}
