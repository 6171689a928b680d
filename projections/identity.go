package projections

import (
	"encoding/binary"
	"fmt"

	"github.com/tidemark/tidemark/events"
)

// FormatVersion names the record formats of docs/formats.md.
const FormatVersion = 1

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

// Mismatch says how a store differs from what it was opened for.
type Mismatch uint8

// Mismatches.
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

// MismatchError is why Open refused a store. Its text says what differs and the way out.
type MismatchError struct {
	Dir    string
	Kind   Mismatch
	Detail string
}

func (e *MismatchError) Error() string { return fmt.Sprintf("store %s: %s", e.Dir, e.Detail) }

// check compares what a store's header says (got) with what it is opened for (want).
func check(dir string, got, want *header) error {
	fail := func(k Mismatch, format string, args ...any) error {
		return &MismatchError{dir, k, fmt.Sprintf(format, args...)}
	}
	g, w := &got.id, &want.id
	switch {
	case got.format > want.format || got.fold > want.fold:
		return fail(MismatchNewerFormat, "written by a newer version (format %d, fold %d; this build knows format %d, fold %d); run the newer version, or start with an empty data directory to rebuild from the topics",
			got.format, got.fold, want.format, want.fold)
	case got.format < want.format || got.fold < want.fold:
		return fail(MismatchOlderFormat, "written by an older version (format %d, fold %d; this build has format %d, fold %d) that this build does not convert; start with an empty data directory to rebuild from the topics",
			got.format, got.fold, want.format, want.fold)
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
	return fmt.Sprintf("fanout-limit %d, receipt-limit %d, send-marks-read %t, index-retention %dh",
		s.FanoutLimit, s.ReceiptLimit, s.SendMarksRead, s.IndexRetention/3600000)
}

// header is the record under keyHeader.
type header struct {
	format, fold uint64
	id           Identity
	pos          Position
	times        [events.NumInputs]int64
	digest       digest
}

// append encodes the header record.
func (h *header) append(b []byte) []byte {
	b = binary.AppendUvarint(b, h.format)
	b = binary.AppendUvarint(b, h.fold)
	b = appendBytes(b, []byte(h.id.ClusterID))
	for i := range h.id.Topics {
		b = appendBytes(b, []byte(h.id.Topics[i].Name))
		b = append(b, h.id.Topics[i].ID[:]...)
	}
	b = binary.AppendUvarint(b, uint64(h.id.Partition))
	b = binary.AppendUvarint(b, uint64(h.id.Partitions))
	s := &h.id.Settings
	b = binary.AppendUvarint(b, uint64(s.FanoutLimit))
	b = binary.AppendUvarint(b, uint64(s.ReceiptLimit))
	b = appendBool(b, s.SendMarksRead)
	b = binary.AppendVarint(b, s.IndexRetention)
	for _, v := range h.pos {
		b = binary.AppendUvarint(b, uint64(v))
	}
	for _, v := range h.times {
		b = binary.AppendVarint(b, v)
	}
	d := h.digest.bytes()
	return append(b, d[:]...)
}

// decode reads a header. The versions come first and stay first in every format, so that a newer store can be told.
func (h *header) decode(b []byte) error {
	r := reader{b: b}
	h.format, h.fold = r.uvarint(), r.uvarint()
	if r.err == nil && h.format != FormatVersion {
		return nil
	}
	h.id.ClusterID = string(r.bytes())
	for i := range h.id.Topics {
		h.id.Topics[i].Name = string(r.bytes())
		copy(h.id.Topics[i].ID[:], r.fixed(16))
	}
	h.id.Partition, h.id.Partitions = int32(r.u32()), int32(r.u32())
	s := &h.id.Settings
	s.FanoutLimit, s.ReceiptLimit = r.u32(), r.u32()
	s.SendMarksRead = r.byte() != 0
	s.IndexRetention = r.varint()
	for i := range h.pos {
		h.pos[i] = int64(r.uvarint())
	}
	for i := range h.times {
		h.times[i] = r.varint()
	}
	if d := r.fixed(16); d != nil {
		h.digest = digest{binary.BigEndian.Uint64(d[8:]), binary.BigEndian.Uint64(d[:8])}
	}
	return r.done()
}
