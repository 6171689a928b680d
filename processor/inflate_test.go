package processor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/inflate"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/steps"
)

// bomb writes a record that compresses to very few bytes.
func (s *site) bomb(in events.Input, partition int32, size int) *kgo.Record {
	s.t.Helper()
	cl := s.newClient(kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerBatchMaxBytes(int32(size+4096)),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	r := &kgo.Record{Topic: s.names().Inputs[in], Partition: partition, Key: []byte("bomb"), Value: make([]byte, size)}
	if err := cl.ProduceSync(context.Background(), r).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// A batch that decompresses to more than the limit stops its partition with an error, live and in a
// rebuild. The other partitions continue. With more memory the partition reads the batch.
func TestACompressedBombStopsItsPartition(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 2)
		own := events.PartitionOf([]byte("general"), 2)
		other := "a"
		for events.PartitionOf([]byte(other), 2) == own {
			other += "a"
		}
		s.join("general", "alice")
		r := s.bomb(events.Messages, own, 24<<20)
		bounded := func(c *Config, batch int) {
			c.ClientOptions = slices.Concat(c.ClientOptions, inflate.Options(batch))
		}
		dir := t.TempDir()
		c := s.config(dir)
		bounded(&c, 2<<20)
		m := s.start(c)
		words := []string{fmt.Sprintf("%s/%d at offset %d", r.Topic, own, r.Offset), "more than the 2 MiB that it may", "--memory"}
		m.failedWith(own, 2, words...)
		m.unread(s.join(other, "alice"), "alice", other)
		m.stop()

		for _, got := range s.rebuild(t.TempDir(), func(c *RebuildConfig) { bounded(&c.Config, 2<<20) }) {
			for _, word := range words {
				if got.Partition == own && (got.Err == nil || !strings.Contains(got.Err.Error(), word)) {
					t.Errorf("a rebuild: %v, want %q", got.Err, word)
				}
			}
		}

		c = s.config(dir)
		bounded(&c, 32<<20)
		m = s.start(c).ready(2)
		m.unread(s.post("general", "m1", "alice"), "alice", "general")
		until(t, "the dead letter is written", func() bool { return len(s.deadLetters()) > 0 })
		if l := s.deadLetters(); len(l) != 1 || header(l[0], steps.HeaderReason) != string(events.ReasonTooLarge) {
			t.Errorf("%d dead letters, want one that is too large", len(l))
		}
	})
}
