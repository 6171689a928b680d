package processor

import (
	"github.com/tidemark/tidemark/processor/internal/home"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/processor/internal/steps"
)

// Topics are the names that a processor uses. An empty one is that of package events.
type Topics = setup.Topics

// Config configures a processor. Brokers, Group and Settings must be set; to Run it, DataDir too.
// Zero is a good value for all other fields.
type Config = setup.Config

// ReasonSkipped is the reason of a dead letter that Config.Skip asked for.
const ReasonSkipped = setup.ReasonSkipped

// DefaultCutBytes is Config.CutBytes where it is 0.
const DefaultCutBytes = setup.DefaultCutBytes

// Breaker sets when a partition stops because too many of its records are bad.
type Breaker = setup.Breaker

// StoreDir returns the directory of a partition's store.
func StoreDir(dataDir string, partition int32) string { return home.Dir(dataDir, partition) }

// Stores lists the partitions that have a store in a data directory, in order.
func Stores(dataDir string) ([]int32, error) { return home.Stores(dataDir) }

// Watcher collects the channels that changed for one user in one partition.
type Watcher = steps.Watcher

// Headers of a dead letter. All are text.
const (
	HeaderTopic     = steps.HeaderTopic
	HeaderPartition = steps.HeaderPartition
	HeaderOffset    = steps.HeaderOffset
	HeaderReason    = steps.HeaderReason    // an events.Reason
	HeaderDetail    = steps.HeaderDetail    // what exactly is wrong, for people
	HeaderTimestamp = steps.HeaderTimestamp // of the record, in Unix milliseconds: an event without a time has this one
	HeaderLeftOut   = steps.HeaderLeftOut   // what is not copied because it is too large; absent where the copy is whole
)
