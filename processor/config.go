package processor

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// Topics are the names that a processor uses. An empty one is that of package events.
type Topics struct {
	Inputs      [events.NumInputs]string
	Unread      string
	Channels    string
	Receipts    string
	DeadLetters string
}

// Config says what a processor is. Brokers, Group and Settings must be set, and DataDir of one that is run; for all else
// zero is a good value.
type Config struct {
	// Brokers are the addresses to begin with.
	Brokers []string
	// ClientOptions are added to the client's: TLS, SASL, a dialer, InstanceID. Those that say how to consume or
	// produce are the processor's own and must not be among them, but for time limits.
	ClientOptions []kgo.Opt
	// Group is the consumer group.
	Group string
	// Topics names inputs and outputs. Inputs, Unread and Channels must have the same number of partitions.
	Topics Topics
	// DataDir holds a store for each partition that was owned. Two processes must not share it. Empty: the processor is
	// not run, only asked who owns what.
	DataDir string
	// Settings are what the fold sees of the configuration; see projections.DefaultSettings.
	Settings projections.Settings
	// Advertise is the URL at which other nodes reach this one's query service; empty: they cannot.
	Advertise string

	// Cache is the block cache that all stores share; nil: a small one for each store. It must be larger than twice
	// MemTableSize for each partition.
	Cache *pebble.Cache
	// MemTableSize is that of each store, in bytes; 0: the projections' default.
	MemTableSize uint64
	// FS is where the stores are; nil: the operating system's.
	FS vfs.FS

	// BatchRecords is how many records are folded, at most, before their changes are published; 10,000 by default.
	// While a batch is being published up to four times as many are folded for the next.
	BatchRecords int
	// BatchTime is how long records are folded, at most, before their changes are published; 20 ms by default. What
	// comes alone is not waited with.
	BatchTime time.Duration
	// FanoutDelay is how long, at most, the deltas of other members are joined while there is a backlog or channels are
	// busy (200 us for each delta that was published last); 250 ms by default.
	FanoutDelay time.Duration
	// CutEvery and CutBytes say when the store is written: so long after the last time, or when so much is dirty;
	// 1 s and 32 MiB by default. A partition that is silent (opening, standby, rebuild) may have a quarter of what it
	// has in memory dirty, up to 256 MiB, if that is more.
	CutEvery time.Duration
	CutBytes int64
	// CommitEvery is the least time between two commits of group offsets; 100 ms by default. It bounds what is published
	// again after a crash.
	CommitEvery time.Duration
	// QueueBytes bounds the fetched records that wait to be folded, over all partitions; 128 MiB by default. A
	// partition's input may hold at least 2 MiB, whatever the number of partitions.
	QueueBytes int64
	// MergeWait is how long, at most, an input that is behind is waited for so that records are folded in the order of
	// their timestamps; 1 s by default.
	MergeWait time.Duration
	// Standbys is how many other members follow each partition, so that one of them goes on at once when its owner
	// fails; 0 by default. Members of a group should agree; else the largest number holds.
	Standbys int
	// NearRecords is how many records the new owner of a partition may lack of the old one's position when the
	// partition moves while the old one is well; 20,000 by default. A new owner that lacks more tails it first.
	NearRecords int64
	// StandbyEvery is how often a standby asks how far it may follow; 250 ms by default.
	StandbyEvery time.Duration
	// InstanceID makes the member a static one: a process that comes back with the same id within the session timeout
	// has its partitions again and nothing moves. It must be unique in the group; empty: a dynamic member.
	InstanceID string
	// SessionTimeout is for how long a member may be silent before its partitions go to others; 10 s by default.
	SessionTimeout time.Duration
	// StopTimeout bounds how long a partition may take to finish when it is revoked or the processor stops; 30 s by
	// default. It must be below the group's rebalance timeout, which is twice that if ClientOptions do not set it.
	StopTimeout time.Duration
	// Skip are records that are not folded but go to the dead letters: those that a parked partition names, if they are to
	// be left out. State is then that of the logs without them, so every node of the group, and every rebuild, needs the
	// same.
	Skip []RecordID
	// Breaker says when a partition with too many bad records stops.
	Breaker Breaker

	// Snapshots is where snapshots of the stores are taken to and brought back from; nil: there are none.
	Snapshots *snapshot.Repository
	// SnapshotEvery is the time between two snapshots of a partition; 0: none are taken.
	SnapshotEvery time.Duration

	// StoreRetention is for how long the store of a partition stays on disk that this member neither owns nor follows; 0: for
	// good.
	StoreRetention time.Duration

	// Registerer gets the metrics; nil: they are kept but not registered.
	Registerer prometheus.Registerer
	// Logger gets what happens; nil: nowhere.
	Logger *slog.Logger

	skips map[RecordID]bool
	// retryAfter is the pause before try number n to open a partition that failed; nil: from 1 s up to 1 min. Tests set it.
	retryAfter func(n int) time.Duration
	// now is the clock; nil: time.Now. Tests set it.
	now func() time.Time
	// closerRecords is by how many records a snapshot must be ahead of a store to be brought in its place, where the log
	// would do as well; 0: what it takes to be faster. Tests set it.
	closerRecords int64
	// lockRecords is how many records are folded at once, at most; 0: lockRecords. Tests set it lower, so that a backlog is
	// there with few.
	lockRecords int
	// rebuildFetch is how many bytes of an input a rebuild fetches at once; 0: rebuildFetchBytes. Tests set it lower, so that
	// few records are many fetches.
	rebuildFetch int32
	// openStore opens the store of a partition; nil: projections.Open. Tests set it.
	openStore func(dir string, id projections.Identity, o projections.Options) (fold, error)
}

// withDefaults checks c and fills in what is not set.
func (c Config) withDefaults() (Config, error) {
	switch {
	case len(c.Brokers) == 0:
		return c, errors.New("processor: no brokers are configured")
	case c.Group == "":
		return c, errors.New("processor: no group is configured")
	}
	for i := range c.Topics.Inputs {
		def(&c.Topics.Inputs[i], events.InputTopics[i])
	}
	def(&c.Topics.Unread, events.TopicUnread)
	def(&c.Topics.Channels, events.TopicChannels)
	def(&c.Topics.Receipts, events.TopicReceipts)
	def(&c.Topics.DeadLetters, events.TopicDeadLetters)
	def(&c.BatchRecords, 10_000)
	def(&c.BatchTime, 20*time.Millisecond)
	def(&c.FanoutDelay, 250*time.Millisecond)
	def(&c.CutEvery, time.Second)
	def(&c.CutBytes, 32<<20)
	def(&c.CommitEvery, 100*time.Millisecond)
	def(&c.QueueBytes, 128<<20)
	def(&c.MergeWait, time.Second)
	def(&c.NearRecords, 20_000)
	def(&c.StandbyEvery, 250*time.Millisecond)
	def(&c.SessionTimeout, 10*time.Second)
	def(&c.StopTimeout, 30*time.Second)
	c.Breaker = c.Breaker.withDefaults()
	for _, d := range []struct {
		name string
		bad  bool
	}{
		{"BatchRecords", c.BatchRecords < 1}, {"BatchTime", c.BatchTime < 0}, {"FanoutDelay", c.FanoutDelay < 0},
		{"CutEvery", c.CutEvery < 0}, {"CutBytes", c.CutBytes < 1}, {"CommitEvery", c.CommitEvery < 0},
		{"QueueBytes", c.QueueBytes < 1}, {"MergeWait", c.MergeWait < 0}, {"StopTimeout", c.StopTimeout < 0},
		{"Standbys", c.Standbys < 0}, {"NearRecords", c.NearRecords < 0}, {"StandbyEvery", c.StandbyEvery < 0},
		{"SessionTimeout", c.SessionTimeout < 0}, {"StoreRetention", c.StoreRetention < 0},
	} {
		if d.bad {
			return c, fmt.Errorf("processor: %s is negative", d.name)
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Registerer == nil {
		c.Registerer = prometheus.NewRegistry()
	}
	c.skips = map[RecordID]bool{}
	for _, r := range c.Skip {
		c.skips[r] = true
	}
	if c.retryAfter == nil {
		c.retryAfter = retryAfter
	}
	if c.now == nil {
		c.now = time.Now
	}
	def(&c.closerRecords, closerRecords)
	def(&c.lockRecords, lockRecords)
	def(&c.rebuildFetch, rebuildFetchBytes)
	if c.openStore == nil {
		c.openStore = openProjection
	}
	return c, nil
}

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// StoreDir is the directory of a partition's store.
func StoreDir(dataDir string, partition int32) string {
	return filepath.Join(dataDir, storePrefix+strconv.Itoa(int(partition)))
}

const storePrefix = "partition-"

// minInputBytes is what an input of a partition may always hold in memory.
const minInputBytes = 2 << 20

// inputBytes is how many bytes of records one input of a partition may hold when so many partitions are owned.
func (c *Config) inputBytes(partitions int) int64 {
	return max(c.QueueBytes/int64(events.NumInputs*max(partitions, 1)), minInputBytes)
}
