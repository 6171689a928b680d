package metrics

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// After 20 records in wrong partitions of a topic one line names the likely producer, and no second
// line follows.
func TestStrangersAreToldOnce(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	var s strangers
	for i := range 100 {
		key := fmt.Appendf(nil, "channel-%d", i)
		r := &kgo.Record{Topic: "chat.reads", Key: key, Partition: int32(crc32.ChecksumIEEE(key) % 12)}
		s.Note(log, events.Reads, r, 12)
		if lines := strings.Count(out.String(), "\n"); lines != min(1, (i+1)/strangersSaid) {
			t.Fatalf("%d lines after %d records:\n%s", lines, i+1, &out)
		}
	}
	for _, want := range []string{"topic=chat.reads", "records=20", "librdkafka", "partitioner=murmur2_random"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, &out)
		}
	}
}
