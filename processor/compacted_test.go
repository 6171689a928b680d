package processor

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/proxy"
)

// TestLateRecordsBesideCompaction (R6) is TestLateRecordsDoNotStand with outputs that Apache Kafka
// compacts continuously, amid former owners, their fences and late records. Compaction keeps the
// last record of a key and drops the others for good. So its final result must equal the stores,
// which answer the queries, and a Redis that is filled from it.
func TestLateRecordsBesideCompaction(t *testing.T) {
	testkit.NeedsServer(t)
	const n = 4
	s := newSite(t, testkit.Kafka(t).Brokers, n)
	s.compactAtOnce()
	tr := s.company(rand.Uint64())
	config := s.forCompany("")
	dirs := [2]string{t.TempDir(), t.TempDir()}
	s.lateOwners(config, dirs, tr.write)
	written := int64(0)
	names := s.names()
	s.endsOf(names.Unread, names.Channels).Each(func(o kadm.ListedOffset) { written += o.Offset })
	kept := 0
	until(t, "Kafka has compacted the outputs", func() bool {
		kept = len(s.records(names.Unread, names.Channels))
		return int64(kept) < written/2
	})
	t.Logf("Kafka keeps %d of %d records", kept, written)

	left := s.remains(config.Settings)
	s.checkStores(left, config, dirs[:]...)
	f := &checker.Findings{What: "what Kafka keeps"}
	reader := checker.AfterCompaction(s.records(names.Unread, names.Channels), f)
	f.Report(t)
	reader.Check(left.log).Report(t)
	reader.CheckChannels(left.log).Report(t)

	addr := strings.TrimPrefix(testkit.Redis(t).URL, "redis://")
	s.fillRedis(proxy.NewLine(t), addr)
	s.checkRedis(left, redisAt(t, addr))
}

// compactAtOnce makes Kafka end the outputs' segments soon, and compact each a moment after its
// end.
func (s *site) compactAtOnce() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	set := func(name, value string) kadm.AlterConfig { return kadm.AlterConfig{Name: name, Value: &value} }
	if _, err := s.admin().AlterBrokerConfigs(ctx, []kadm.AlterConfig{set("log.cleaner.backoff.ms", "100")}); err != nil {
		s.t.Fatal(err)
	}
	answers, err := s.admin().AlterTopicConfigs(ctx, []kadm.AlterConfig{
		set("segment.ms", "200"), set("min.cleanable.dirty.ratio", "0.001"), set("min.compaction.lag.ms", "0"),
	}, s.names().Unread, s.names().Channels)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, a := range answers {
		if a.Err != nil {
			s.t.Fatalf("%s: %v %s", a.Name, a.Err, a.ErrMessage)
		}
	}
}
