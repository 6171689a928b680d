package events_test

import (
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/events"
)

// Known results of librdkafka's consistent partitioner (its own test has crc32 of the key modulo
// the partitions), and of Sarama's hash partitioner, which drops the sign.
func TestPartitionersOf(t *testing.T) {
	const n = 12
	for i := range 500 {
		key := fmt.Appendf(nil, "key-%d", i)
		if p := int32(crc32.ChecksumIEEE(key) % n); !contains(events.PartitionersOf(key, p, n), events.PartitionerCRC32) {
			t.Errorf("%s in %d is not seen as that of CRC32", key, p)
		}
		if p := events.PartitionOf(key, n); !contains(events.PartitionersOf(key, p, n), events.PartitionerOtherKey) {
			t.Errorf("%s in %d is not seen as that of murmur2", key, p)
		}
	}
	// FNV-1a of "a" is 0xe40c292c, which is -468965076 as an int32, and -6 modulo 7.
	if !contains(events.PartitionersOf([]byte("a"), 6, 7), events.PartitionerFNV1a) || contains(events.PartitionersOf([]byte("a"), 1, 7), events.PartitionerFNV1a) {
		t.Error(`Sarama puts "a" into partition 6 of 7`)
	}
	if got := events.PartitionersOf(nil, 3, n); len(got) != 1 || got[0] != events.PartitionerNoKey {
		t.Errorf("without a key: %v", got)
	}
}

func contains(list []events.Partitioner, p events.Partitioner) bool {
	for _, x := range list {
		if x == p {
			return true
		}
	}
	return false
}

// LookLike names the partitioner of nearly all records, and none for a mixture or a round robin.
func TestStrangersLookLike(t *testing.T) {
	const n = 16
	crc := func(key []byte) int32 { return int32(crc32.ChecksumIEEE(key) % n) }
	var all, mixed, robin, keyless events.Strangers
	for i := range 40 {
		key := fmt.Appendf(nil, "channel-%d", i)
		all.Add(key, crc(key), n)
		robin.Add(key, int32(i)%n, n)
		keyless.Add(nil, int32(i)%n, n)
		if i%2 == 0 {
			mixed.Add(key, crc(key), n)
		} else {
			mixed.Add(nil, int32(i)%n, n)
		}
	}
	for want, s := range map[*events.Strangers]events.Partitioner{&all: events.PartitionerCRC32, &mixed: events.PartitionerUnknown,
		&robin: events.PartitionerUnknown, &keyless: events.PartitionerNoKey} {
		if got := want.LookLike(); got != s {
			t.Errorf("%+v looks like %s, want %s", *want, got, s)
		}
	}
}

// The error of a record in the wrong partition names the partitioner and the way out, the same each
// time.
func TestCheckRecordNamesThePartitioner(t *testing.T) {
	channel := []byte("general")
	p := int32(crc32.ChecksumIEEE(channel) % 12)
	if p == events.PartitionOf(channel, 12) {
		t.Fatal("another channel is needed")
	}
	err := events.CheckRecord(channel, channel, p, 12)
	if events.ReasonOf(err) != events.ReasonWrongPartition || !strings.Contains(err.Error(), "librdkafka") || !strings.Contains(err.Error(), "murmur2_random") {
		t.Errorf("%v", err)
	}
	if again := events.CheckRecord(channel, channel, p, 12); again.Error() != err.Error() {
		t.Errorf("%v, then %v", err, again)
	}
	if err := events.CheckRecord(nil, channel, events.PartitionOf(channel, 12), 12); err != nil {
		t.Errorf("in its own partition: %v", err)
	}
}
