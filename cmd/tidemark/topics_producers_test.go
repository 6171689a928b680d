package main

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cmd/internal/verbs/topics"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// Records of clients with other partitioners are found, and named with how to set the right one;
// those of the right one are not.
func TestTopicsCheckProducers(t *testing.T) {
	const partitions = 6
	for name, c := range map[string]struct {
		hash func([]byte) kgo.PartitionerHasher
		key  func(channel string) []byte
		want string // empty: nothing is found
	}{
		"murmur2": {nil, func(c string) []byte { return []byte(c) }, ""},
		"librdkafka": {func([]byte) kgo.PartitionerHasher {
			return func(key []byte, n int) int { return int(crc32.ChecksumIEEE(key) % uint32(n)) }
		}, func(c string) []byte { return []byte(c) }, "partitioner=murmur2_random"},
		"sarama": {func([]byte) kgo.PartitionerHasher {
			return kgo.SaramaCompatHasher(func(key []byte) uint32 {
				h := fnv.New32a()
				h.Write(key)
				return h.Sum32()
			})
		}, func(c string) []byte { return []byte(c) }, "sarama.NewMurmur2Partitioner"},
		"another key": {nil, func(c string) []byte { return []byte("by-" + c) }, "murmur2 of another key than the channel_id"},
		"no key":      {nil, func(string) []byte { return nil }, "there is no key"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, embedded(t), partitions)
			var hasher kgo.PartitionerHasher
			if c.hash != nil {
				hasher = c.hash(nil)
			}
			var records []*kgo.Record
			for i := range 60 {
				channel := fmt.Sprintf("channel-%d", i)
				r := &kgo.Record{Topic: events.TopicReads, Key: c.key(channel),
					Value: fmt.Appendf(nil, `{"channel_id":%q,"user_id":"u","read_up_to":{"seq":1}}`, channel)}
				if r.Key == nil { // as a round robin does
					r.Partition = int32(i % partitions)
				}
				records = append(records, r)
			}
			partitioner := kgo.StickyKeyPartitioner(hasher)
			if name == "no key" {
				partitioner = kgo.ManualPartitioner()
			}
			cl := testkit.Client(t, []string{s.broker}, kgo.RecordPartitioner(partitioner))
			if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
				t.Fatal(err)
			}
			r := tidemark(t, "", "topics", "check", "--brokers", s.broker, "--producers")
			if c.want == "" {
				if r.code != exitDone || !strings.Contains(r.out, "as they should be") {
					t.Errorf("%+v", r)
				}
				return
			}
			if r.code != exitDifferences || !strings.Contains(r.out, "chat.reads: ") || !strings.Contains(r.out, c.want) {
				t.Errorf("%+v, want %q", r, c.want)
			}
			r = tidemark(t, "", "topics", "check", "--brokers", s.broker, "--producers", "--json")
			var got struct{ Producers []topics.StrangersInfo }
			if err := json.Unmarshal([]byte(r.out), &got); err != nil || len(got.Producers) != 1 || got.Producers[0].Looked != 60 || got.Producers[0].Wrong < 20 {
				t.Errorf("--json: %+v, %v", r, err)
			}
			if r := tidemark(t, "", "topics", "check", "--brokers", s.broker); r.code != exitDone {
				t.Errorf("without --producers: %+v", r)
			}
		})
	}
}
