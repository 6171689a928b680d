package events

import (
	"encoding/binary"
	"strconv"
)

// PartitionOf returns the partition that Kafka's default partitioner selects for a record with this
// key in a topic of n partitions. It panics if n is 0.
//
// Channels are partitioned by channel_id, records of tidemark.unread by user_id.
func PartitionOf(key []byte, n int32) int32 {
	return int32(Murmur2(key)&0x7fffffff) % n
}

// Murmur2 is the 32-bit MurmurHash2 with the seed of Kafka's clients.
func Murmur2(b []byte) uint32 {
	const (
		seed = 0x9747b28c
		m    = 0x5bd1e995
		r    = 24
	)
	h := uint32(seed) ^ uint32(len(b))
	for len(b) >= 4 {
		k := binary.LittleEndian.Uint32(b) * m
		k ^= k >> r
		h = h*m ^ k*m
		b = b[4:]
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h ^= uint32(b[0])
		h *= m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}

// CheckPartition returns an *Error with ReasonWrongPartition if the channel does not belong to
// partition p of n: the record has another key, or its producer another partitioner.
func CheckPartition(channelID []byte, p, n int32) error {
	want := PartitionOf(channelID, n)
	if want == p {
		return nil
	}
	return &Error{Reason: ReasonWrongPartition, Field: "channel_id", Detail: quote(channelID) + " belongs to partition " +
		strconv.Itoa(int(want)) + " of " + strconv.Itoa(int(n)) + ", the record is in " + strconv.Itoa(int(p)) +
		": produce with key channel_id and the murmur2 partitioner"}
}
