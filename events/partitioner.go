package events

import (
	"hash/crc32"
	"hash/fnv"
)

// Partitioner is a way in which a producer may have chosen the wrong partition for a record.
type Partitioner uint8

// Partitioners that can be recognized by the partition and the key of a record.
const (
	PartitionerUnknown  Partitioner = iota // round robin or sticky in spite of a key, or an unknown one
	PartitionerCRC32                       // librdkafka's default: consistent_random
	PartitionerFNV1a                       // Sarama's default
	PartitionerNoKey                       // any, because the record has no key
	PartitionerOtherKey                    // the right one, but the key is not the channel's id
	NumPartitioners
)

var partitionerWords = [NumPartitioners]struct{ name, do string }{
	PartitionerUnknown: {"round robin, or a partitioner that is not known here", "write with key channel_id and the murmur2 partitioner"},
	PartitionerCRC32: {"librdkafka's default partitioner (consistent_random, CRC32)",
		"set partitioner=murmur2_random in that client, be it confluent-kafka, node-rdkafka or kcat"},
	PartitionerFNV1a: {"Sarama's default partitioner (FNV-1a)",
		"set config.Producer.Partitioner = sarama.NewMurmur2Partitioner, which Sarama has from 1.50 on"},
	PartitionerNoKey:    {"any partitioner, for there is no key", "write with key channel_id"},
	PartitionerOtherKey: {"murmur2 of another key than the channel_id", "write with key channel_id"},
}

// String returns the partitioner's name for error texts.
func (p Partitioner) String() string { return partitionerWords[p].name }

// Do returns the change to make in the producer's configuration.
func (p Partitioner) Do() string { return partitionerWords[p].do }

// PartitionersOf returns the partitioners that would put a record with this key into partition p of
// n, although its channel belongs to another partition. For one record in n, a partitioner is
// listed by chance.
func PartitionersOf(key []byte, p, n int32) (list []Partitioner) {
	if len(key) == 0 {
		return []Partitioner{PartitionerNoKey}
	}
	if int32(crc32.ChecksumIEEE(key)%uint32(n)) == p {
		list = append(list, PartitionerCRC32)
	}
	h := fnv.New32a()
	h.Write(key) // never fails
	if sarama := int32(h.Sum32()) % n; sarama == p || -sarama == p {
		list = append(list, PartitionerFNV1a)
	}
	if PartitionOf(key, n) == p {
		list = append(list, PartitionerOtherKey)
	}
	return list
}

// Strangers counts records that are in the wrong partition, by the partitioner that may have put
// them there. The zero value is ready to use.
type Strangers struct {
	N  int
	by [NumPartitioners]int
}

// Add counts a record with this key, found in partition p of n.
func (s *Strangers) Add(key []byte, p, n int32) {
	s.N++
	for _, by := range PartitionersOf(key, p, n) {
		s.by[by]++
	}
}

// LookLike returns the partitioner that fits at least nine of ten records, or PartitionerUnknown if
// there is none.
func (s *Strangers) LookLike() Partitioner {
	best := PartitionerUnknown
	for p := range s.by {
		if s.by[p]*10 >= s.N*9 && s.by[p] > s.by[best] {
			best = Partitioner(p)
		}
	}
	return best
}

// explainPartition adds to an error of CheckPartition which partitioner probably chose the
// partition. The result depends on the record alone.
func explainPartition(e *Error, key []byte, p, n int32) {
	list := PartitionersOf(key, p, n)
	if len(list) == 0 {
		list = []Partitioner{PartitionerUnknown}
	}
	before := "; the place is that of "
	for _, by := range list {
		e.Detail += before + by.String() + " (" + by.Do() + ")"
		before = ", or of "
	}
}

// CheckRecord is CheckPartition for a record with this key. Its error also names the partitioner
// that probably chose the partition.
func CheckRecord(key, channelID []byte, p, n int32) error {
	err := CheckPartition(channelID, p, n)
	if e, ok := err.(*Error); ok { //nolint:errorlint // CheckPartition has created it
		explainPartition(e, key, p, n)
	}
	return err
}
