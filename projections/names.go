package projections

import (
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/outbox"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/store"
)

// FoldVersion, OldestFold, FormatVersion and NewestFormat: see package identity.
const (
	FoldVersion   = identity.FoldVersion
	OldestFold    = identity.OldestFold
	FormatVersion = identity.FormatVersion
	NewestFormat  = identity.NewestFormat
)

// Mismatches.
const (
	MismatchNewerFormat    = identity.MismatchNewerFormat
	MismatchOlderFormat    = identity.MismatchOlderFormat
	MismatchCluster        = identity.MismatchCluster
	MismatchTopicName      = identity.MismatchTopicName
	MismatchTopicRecreated = identity.MismatchTopicRecreated
	MismatchPartitions     = identity.MismatchPartitions
	MismatchPartition      = identity.MismatchPartition
	MismatchSettings       = identity.MismatchSettings
)

type (
	// Position is V = (m, r, d) of DESIGN §1: the next offsets of chat.messages, chat.reads and
	// chat.deliveries.
	Position = identity.Position
	// Settings are what the fold sees of the configuration.
	Settings = identity.Settings
	// Identity is what a store belongs to; Open refuses a store whose header says otherwise.
	Identity = identity.Identity
	// TopicIdentity is a topic as the cluster knows it.
	TopicIdentity = identity.TopicIdentity
	// Mismatch says how a store differs from what it was opened for.
	Mismatch = identity.Mismatch
	// MismatchError is why Open refused a store. Its text says what differs and the way out.
	MismatchError = identity.MismatchError
)

// DefaultSettings returns the defaults of DESIGN §2, §4.3 and §4.6: 50, 50, true, 90 days.
func DefaultSettings() Settings { return identity.DefaultSettings() }

// CheckIdentity compares what a store or snapshot at where was written by and belongs to with what
// it is wanted for; a *MismatchError says what differs, as Open does.
func CheckIdentity(where string, format, fold uint64, got, want Identity) error {
	return identity.CheckIdentity(where, format, fold, got, want)
}

type (
	// CorruptError says that a store holds something else than was written to it.
	CorruptError = store.CorruptError
	// Stopped is a store that no process uses, held so that none begins to.
	Stopped = store.Stopped
)

// IsCorrupt reports whether err, of Open or of Partition.Err, says that what the store holds is
// wrong, as opposed to disks that fail or are full, and stores that belong to something else.
func IsCorrupt(err error) bool { return store.IsCorrupt(err) }

// OpenStopped takes hold of the store in dir. It fails if a process uses it. fs nil is the
// operating system's.
func OpenStopped(dir string, fs vfs.FS) (*Stopped, error) { return store.OpenStopped(dir, fs) }

type (
	// OutTopic names the output topic of a record.
	OutTopic = outbox.Topic
	// OutRecord is one record to publish. Its slices are valid until Reset of its Deltas.
	OutRecord = outbox.Record
	// Deltas collects the records of a drain. Reuse it to reuse its memory.
	Deltas = outbox.Deltas
)

// The output topics (DESIGN §7).
const (
	OutUnread   = outbox.Unread
	OutChannels = outbox.Channels
	OutReceipts = outbox.Receipts
)

// Outcome is what folding one record did.
type Outcome = state.Outcome

// MaxSeq is the seq of the last message that a channel takes.
const MaxSeq = state.MaxSeq

// Outcomes: see package state. OutcomeTooManyHeld and OutcomeChannelFull make the record a dead
// letter.
const (
	OutcomeApplied     = state.OutcomeApplied
	OutcomeDuplicate   = state.OutcomeDuplicate
	OutcomeIgnored     = state.OutcomeIgnored
	OutcomeWaiting     = state.OutcomeWaiting
	OutcomeTooManyHeld = state.OutcomeTooManyHeld
	OutcomeChannelFull = state.OutcomeChannelFull
	OutcomeExpiredID   = state.OutcomeExpiredID
	NumOutcomes        = state.NumOutcomes
)
