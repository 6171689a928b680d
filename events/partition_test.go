package events_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// The values of Kafka's own test of its hash (UtilsTest.testMurmur2), as unsigned numbers.
func TestMurmur2(t *testing.T) {
	for key, want := range map[string]int32{
		"21":                         -973932308,
		"foobar":                     -790332482,
		"a-little-bit-long-string":   -985981536,
		"a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
		"abc": 479470107,
	} {
		if got := int32(events.Murmur2([]byte(key))); got != want {
			t.Errorf("%q: got %d, want %d", key, got, want)
		}
	}
}

// PartitionOf equals the partitioner of the client that producers here use, which follows Kafka's
// default.
func TestPartitionOf(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for _, n := range []int32{1, 2, 3, 4, 16, 64, 100, 1000} {
		partitioner := kgo.StickyKeyPartitioner(nil).ForTopic("t")
		for range 2_000 {
			key := make([]byte, 1+rnd.IntN(40)) // a record without a key has no partition of its own
			for i := range key {
				key[i] = byte(rnd.Uint32())
			}
			if got, want := events.PartitionOf(key, n), partitioner.Partition(&kgo.Record{Key: key}, int(n)); int(got) != want {
				t.Fatalf("%q of %d: got %d, want %d", key, n, got, want)
			}
		}
	}
}

func TestCheckPartition(t *testing.T) {
	id := []byte("c1")
	p := events.PartitionOf(id, 8)
	if err := events.CheckPartition(id, p, 8); err != nil {
		t.Errorf("its own partition: %v", err)
	}
	err := events.CheckPartition(id, (p+1)%8, 8)
	if events.ReasonOf(err) != events.ReasonWrongPartition || errors.Is(err, events.ErrNewerVersion) {
		t.Errorf("another partition: %v", err)
	}
	if want := fmt.Sprintf("belongs to partition %d of 8", p); !strings.Contains(err.Error(), want) {
		t.Errorf("%q does not say %q", err, want)
	}
}
