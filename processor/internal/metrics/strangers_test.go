package metrics

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// After 20 records in wrong partitions of a topic one line names the likely producer. No second
// line follows.
func TestStrangersAreToldOnce(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	var s strangers
	for i := range 100 {
		key := fmt.Appendf(nil, "channel-%d", i)
		r := &kgo.Record{Topic: "chat.reads", Key: key, Partition: int32(crc32.ChecksumIEEE(key) % 12)}
		s.Note(log, events.Reads, r, 12)
		if lines := strings.Count(out.String(), "\n"); lines != min(1, (i+1)/strangersLimit) {
			t.Fatalf("%d lines after %d records:\n%s", lines, i+1, &out)
		}
	}
	for _, want := range []string{"topic=chat.reads", "records=20", "librdkafka", "partitioner=murmur2_random"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, &out)
		}
	}
}

// The line names each partitioner that the records may come from, and the setting that corrects it.
func TestStrangersAreNamed(t *testing.T) {
	const n = 12
	sarama := func(key []byte) int32 {
		h := fnv.New32a()
		_, _ = h.Write(key)                                     // it cannot fail
		return max(int32(h.Sum32())%n, -(int32(h.Sum32()) % n)) //nolint:gosec // as Sarama does
	}
	for _, c := range []struct {
		what, looks, do string
		partition       func(i int, key []byte) int32
	}{
		{"librdkafka's default", "librdkafka", "partitioner=murmur2_random", func(_ int, key []byte) int32 { return int32(crc32.ChecksumIEEE(key) % n) }},
		{"Sarama's default", "Sarama", "NewMurmur2Partitioner", func(_ int, key []byte) int32 { return sarama(key) }},
		{"round robin", "round robin", "murmur2", func(i int, _ []byte) int32 { return int32(i % n) }},
	} {
		var out bytes.Buffer
		var s strangers
		for i := range 200 {
			key := fmt.Appendf(nil, "channel-%d", i)
			p := c.partition(i, key)
			if p == events.PartitionOf(key, n) {
				continue // in its own partition by chance
			}
			s.Note(slog.New(slog.NewTextHandler(&out, nil)), events.Reads, &kgo.Record{Topic: "chat.reads", Key: key, Partition: p}, n)
		}
		line := out.String()
		if strings.Count(line, "\n") != 1 || !strings.Contains(line, "records=20") || !strings.Contains(line, c.looks) || !strings.Contains(line, c.do) {
			t.Errorf("%s:\n%s", c.what, line)
		}
	}
}
