package museum

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

// audit compares all of Redis, for all users and channels, with the model of the topics.
func (s *site) audit(t *testing.T) {
	t.Helper()
	records := s.records(t, s.topics.Inputs[:]...)
	for _, r := range records {
		r.Topic = strings.TrimPrefix(r.Topic, s.set.Prefix)
	}
	log := checker.NewLog(projections.DefaultSettings(), partitions, records)
	if len(log.Bad) > 0 {
		t.Errorf("%d records of the stories are bad, the first: %s", len(log.Bad), log.Bad[0].Reason)
	}
	if saw, ok := eventually(func() (bool, string) {
		f := checker.Redis(context.Background(), log, s.rdb)
		return f.Count == 0, f.String()
	}); !ok {
		t.Error(saw)
	}
}

// records returns all records of some topics up to their current ends, in the order of each
// partition.
func (s *site) records(t *testing.T, topics ...string) []*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ends, err := testkit.Admin(t, s.env.Brokers).ListEndOffsets(ctx, topics...)
	if err := errors.Join(err, ends.Error()); err != nil {
		t.Fatal(err)
	}
	left := int64(0)
	from := map[string]map[int32]kgo.Offset{}
	ends.Each(func(end kadm.ListedOffset) {
		if from[end.Topic] == nil {
			from[end.Topic] = map[int32]kgo.Offset{}
		}
		from[end.Topic][end.Partition] = kgo.NewOffset().AtStart()
		left += end.Offset
	})
	client := testkit.Client(t, s.env.Brokers, kgo.ConsumePartitions(from), kgo.FetchMaxWait(time.Second))
	var records []*kgo.Record
	for left > 0 {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("%d records of %v are missing: %v", left, topics, ctx.Err())
		}
		fetches.EachRecord(func(r *kgo.Record) {
			records = append(records, r)
			left--
		})
	}
	return records
}
