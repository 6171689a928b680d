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
	// Settings are the parts of the configuration that the fold depends on.
	Settings = identity.Settings
	// Identity states what a store belongs to. Open refuses a store whose header differs.
	Identity = identity.Identity
	// TopicIdentity is the identity of a topic in its cluster.
	TopicIdentity = identity.TopicIdentity
	// Mismatch states how a store differs from what it was opened for.
	Mismatch = identity.Mismatch
	// MismatchError is the reason why Open refused a store. Its text has the difference and the way
	// out.
	MismatchError = identity.MismatchError
)

// DefaultSettings returns the defaults of DESIGN §2, §4.3 and §4.6: 50, 50, true, 90 days.
func DefaultSettings() Settings { return identity.DefaultSettings() }

// CheckIdentity compares the identity and versions of a store or snapshot at where with the wanted
// ones. If they differ it returns a *MismatchError, as Open does.
func CheckIdentity(where string, format, fold uint64, got, want Identity) error {
	return identity.CheckIdentity(where, format, fold, got, want)
}

type (
	// CorruptError reports that a store's contents are not what was written to it.
	CorruptError = store.CorruptError
	// Stopped is a store that no process uses, locked so that none can open it.
	Stopped = store.Stopped
)

// IsCorrupt reports whether err, of Open or of Partition.Err, is about wrong contents of a store.
// It is false for disks that fail or are full, and for stores that belong to something else.
func IsCorrupt(err error) bool { return store.IsCorrupt(err) }

// OpenStopped locks the store in dir. It fails if a process uses the store. A nil fs means the
// operating system's.
func OpenStopped(dir string, fs vfs.FS) (*Stopped, error) { return store.OpenStopped(dir, fs) }

// CheckTable reads the table of a store in the file at path and compares the checksum of each of
// its blocks. IsCorrupt tells a block that differs from a disk that fails.
func CheckTable(path string, fs vfs.FS) error { return store.CheckTable(path, fs) }

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

// Outcome is the result of folding one record.
type Outcome = state.Outcome

// MaxSeq is the highest seq that a message of a channel can have.
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
