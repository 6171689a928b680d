package identity

import (
	"encoding/binary"
	"fmt"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// FormatVersion is the version of the record formats of docs/formats.md.
const FormatVersion = 1

// SeededFormat is the version of a store with a channel that begins with seeded messages. Such a
// channel's record has more than FormatVersion defines, so an older build refuses the store with an
// explanation. The store returns to FormatVersion when the last such channel is gone.
const SeededFormat = 2

// CustomizedFormat is the version of a store, with or without seeded messages, in which a user has
// set something that the rows of SeededFormat have no field for (DESIGN §4.7).
const CustomizedFormat = 3

// NewestFormat is the version of a store, with or without all of that, of which Settings.TrimLog is
// set: its log may have trimmed blocks (DESIGN §5). Format 4 has other blocks and is in no release.
const NewestFormat = 5

// Known reports whether this build knows a format.
func Known(format uint64) bool {
	return format >= FormatVersion && format <= CustomizedFormat || format == NewestFormat
}

// TopicIdentity is the identity of a topic in its cluster. A topic that is deleted and created
// again gets another ID.
type TopicIdentity struct {
	Name string
	ID   [16]byte
}

// Identity states what a store belongs to. Open refuses a store whose header differs.
type Identity struct {
	ClusterID  string
	Topics     [events.NumInputs]TopicIdentity
	Partition  int32
	Partitions int32
	Settings   Settings
}

// Mismatch states how a store differs from what it was opened for.
type Mismatch uint8

// The values of Mismatch.
const (
	MismatchNewerFormat Mismatch = iota + 1
	MismatchOlderFormat
	MismatchCluster
	MismatchTopicName
	MismatchTopicRecreated
	MismatchPartitions
	MismatchPartition
	MismatchSettings
)

// MismatchError is the reason why Open refused a store. Its text has the difference and the way
// out.
type MismatchError struct {
	Dir    string
	Kind   Mismatch
	Detail string
}

func (e *MismatchError) Error() string { return fmt.Sprintf("store %s: %s", e.Dir, e.Detail) }

// Check compares a store's header (got) with what it is opened for (want).
func Check(dir string, got, want *Header) error {
	fail := func(k Mismatch, format string, args ...any) error {
		return &MismatchError{dir, k, fmt.Sprintf(format, args...)}
	}
	g, w := &got.Identity, &want.Identity
	switch {
	case got.Format > NewestFormat || got.Fold > want.Fold:
		return fail(MismatchNewerFormat, "written by a newer version (format %d, fold %d; this build knows format %d, fold %d); run the newer version, or start with an empty data directory to rebuild from the topics",
			got.Format, got.Fold, uint64(NewestFormat), want.Fold)
	case got.Format < want.Format || got.Fold < OldestFold || !Known(got.Format):
		return fail(MismatchOlderFormat, "written by an older version (format %d, fold %d; this build has format %d, fold %d) that this build does not convert; start with an empty data directory to rebuild from the topics",
			got.Format, got.Fold, want.Format, want.Fold)
	case g.ClusterID != w.ClusterID:
		return fail(MismatchCluster, "belongs to Kafka cluster %q, but the brokers are of cluster %q; point --brokers at the right cluster, or use another data directory", g.ClusterID, w.ClusterID)
	case g.Partition != w.Partition:
		return fail(MismatchPartition, "holds partition %d, not %d; was a directory renamed?", g.Partition, w.Partition)
	}
	for i := range g.Topics {
		if g.Topics[i].Name != w.Topics[i].Name {
			return fail(MismatchTopicName, "was folded from topic %q, not %q; use the topic names of before, or another data directory", g.Topics[i].Name, w.Topics[i].Name)
		}
	}
	if g.Partitions != w.Partitions {
		return fail(MismatchPartitions, "was folded when the topics had %d partitions, now they have %d: keys have moved between partitions and counts would be wrong; reshard into new topics with the new partition count", g.Partitions, w.Partitions)
	}
	for i := range g.Topics {
		if g.Topics[i].ID != w.Topics[i].ID {
			return fail(MismatchTopicRecreated, "topic %q was deleted and created again since (id %x, now %x): its offsets mean other records; if the new topic is the truth, start with an empty data directory to rebuild from it", g.Topics[i].Name, g.Topics[i].ID, w.Topics[i].ID)
		}
	}
	if g.Settings != w.Settings {
		return fail(MismatchSettings, "was folded with %s, not with %s; start with the settings of before, or with an empty data directory to rebuild from the topics", g.Settings, w.Settings)
	}
	return nil
}

func (s Settings) String() string {
	text := fmt.Sprintf("fanout-limit %d, receipt-limit %d, send-marks-read %t, index-retention %dh",
		s.FanoutLimit, s.ReceiptLimit, s.SendMarksRead, s.IndexRetention/3600000)
	if s.TrimLog {
		text += ", trim-log true"
	}
	return text
}

// Header is the record under keys.Header.
type Header struct {
	Format, Fold uint64
	Identity     Identity
	Position     Position
	Times        [events.NumInputs]int64
	Digest       keys.Digest
}

// Append encodes the header record.
func (h *Header) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, h.Format)
	b = binary.AppendUvarint(b, h.Fold)
	b = wire.AppendBytes(b, []byte(h.Identity.ClusterID))
	for i := range h.Identity.Topics {
		b = wire.AppendBytes(b, []byte(h.Identity.Topics[i].Name))
		b = append(b, h.Identity.Topics[i].ID[:]...)
	}
	b = binary.AppendUvarint(b, uint64(h.Identity.Partition))
	b = binary.AppendUvarint(b, uint64(h.Identity.Partitions))
	s := &h.Identity.Settings
	b = binary.AppendUvarint(b, uint64(s.FanoutLimit))
	b = binary.AppendUvarint(b, uint64(s.ReceiptLimit))
	b = wire.AppendBool(b, s.SendMarksRead)
	b = binary.AppendVarint(b, s.IndexRetention)
	for _, v := range h.Position {
		b = binary.AppendUvarint(b, uint64(v))
	}
	for _, v := range h.Times {
		b = binary.AppendVarint(b, v)
	}
	d := h.Digest.Bytes()
	return append(b, d[:]...)
}

// Decode decodes a header. Every format begins with the versions, so that Decode can detect a newer
// store.
func (h *Header) Decode(b []byte) error {
	r := wire.Reader{B: b}
	h.Format, h.Fold = r.Uvarint(), r.Uvarint()
	if r.Err == nil && !Known(h.Format) {
		return nil
	}
	h.Identity.ClusterID = string(r.Bytes())
	for i := range h.Identity.Topics {
		h.Identity.Topics[i].Name = string(r.Bytes())
		copy(h.Identity.Topics[i].ID[:], r.Fixed(16))
	}
	h.Identity.Partition, h.Identity.Partitions = int32(r.U32()), int32(r.U32())
	s := &h.Identity.Settings
	s.FanoutLimit, s.ReceiptLimit = r.U32(), r.U32()
	s.SendMarksRead = r.Byte() != 0
	s.IndexRetention = r.Varint()
	s.TrimLog = h.Format >= NewestFormat
	for i := range h.Position {
		h.Position[i] = int64(r.Uvarint())
	}
	for i := range h.Times {
		h.Times[i] = r.Varint()
	}
	if d := r.Fixed(16); d != nil {
		h.Digest = keys.Digest{binary.BigEndian.Uint64(d[8:]), binary.BigEndian.Uint64(d[:8])}
	}
	return r.Done()
}

// FoldVersion is the version of this build's rules. Two builds with the same FoldVersion fold the
// same log to the same bytes, in stores and in deltas.
const FoldVersion = 2

// OldestFold is the oldest version whose stores have the same bytes as FoldVersion's for the same
// log. Fold version 1 differs only in its deltas.
const OldestFold = 1

// Position is V = (m, r, d) of DESIGN §1: the next offsets of chat.messages, chat.reads and
// chat.deliveries.
type Position [events.NumInputs]int64

// Dominates reports whether p is at or beyond o in every input.
func (p Position) Dominates(o Position) bool {
	for i := range p {
		if p[i] < o[i] {
			return false
		}
	}
	return true
}

// Settings are the parts of the configuration that the fold depends on. The store's header has
// them; Open refuses a store that was folded with other settings, because its bytes would differ.
type Settings struct {
	FanoutLimit    uint32 // a channel with more members is large for deltas (DESIGN §2); 0 = every channel is large
	ReceiptLimit   uint32 // a message in a channel with more members has no per-message receipts
	SendMarksRead  bool   // whether sending a message reads up to it
	IndexRetention int64  // how long an id can be named, in milliseconds of log time
	TrimLog        bool   // whether the log of a channel ends: cuts trim messages that no event can name any more
}

// DefaultSettings returns the defaults of DESIGN §2, §4.3 and §4.6: 50, 50, true, 90 days.
func DefaultSettings() Settings {
	return Settings{FanoutLimit: 50, ReceiptLimit: 50, SendMarksRead: true, IndexRetention: 90 * 24 * 3600 * 1000}
}

// CheckIdentity compares the identity and versions of a store or snapshot at where with the wanted
// ones. If they differ it returns a *MismatchError, as Open does.
func CheckIdentity(where string, format, fold uint64, got, want Identity) error {
	g, w := Header{Format: format, Fold: fold, Identity: got}, Header{Format: FormatVersion, Fold: FoldVersion, Identity: want}
	return Check(where, &g, &w)
}
