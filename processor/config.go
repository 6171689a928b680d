package processor

import (
	"github.com/tidemark/tidemark/processor/internal/home"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/processor/internal/steps"
)

// Topics are the topic names of a processor. An empty name means the one of package events.
type Topics = setup.Topics

// Config configures a processor. Brokers, Group and Settings must be set; Run also needs DataDir.
// All other fields may be zero.
type Config = setup.Config

// ReasonSkipped is the reason of a dead letter for a record in Config.Skip.
const ReasonSkipped = setup.ReasonSkipped

// DefaultCutBytes is used if Config.CutBytes is 0.
const DefaultCutBytes = setup.DefaultCutBytes

// Breaker sets when a partition stops because too many of its records are bad.
type Breaker = setup.Breaker

// StoreDir returns the directory of a partition's store.
func StoreDir(dataDir string, partition int32) string { return home.Dir(dataDir, partition) }

// Stores lists the partitions that have a store in a data directory, in order.
func Stores(dataDir string) ([]int32, error) { return home.Stores(dataDir) }

// Watcher collects the channels that change for one user in one partition.
type Watcher = steps.Watcher

// Headers of a dead letter. All are text.
const (
	HeaderTopic     = steps.HeaderTopic
	HeaderPartition = steps.HeaderPartition
	HeaderOffset    = steps.HeaderOffset
	HeaderReason    = steps.HeaderReason    // an events.Reason
	HeaderDetail    = steps.HeaderDetail    // what exactly is wrong, for people to read
	HeaderTimestamp = steps.HeaderTimestamp // timestamp of the record, in Unix milliseconds: an event without a time has this one
	HeaderLeftOut   = steps.HeaderLeftOut   // the parts that are not copied because they are too large; absent if the copy is complete
)
