package processor

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/internal/test/workload"
	"github.com/tidemark/tidemark/processor/internal/steps"
	"github.com/tidemark/tidemark/projections"
)

// company is the traffic of package workload on a site. The checker reads all of it.
type company struct {
	s *site
	w *workload.Workload
	n int // records written
	// erased is the number of erased people, about one for every hundred records.
	erased int
	// waiting has the records that write will send.
	waiting []*kgo.Record
}

// companyFanout is small enough that channels of a company become large and small again.
const companyFanout = 8

func (s *site) company(seed uint64) *company {
	s.t.Helper()
	s.t.Logf("seed %d of the events", seed)
	c := &company{s: s}
	c.w = workload.New(seed, workload.Company{Partitions: s.partitions, People: 20,
		Busy: []int{2, 3, 4, 5, 7, 8, 13, 15}, Quiet: 20}, func(r *kgo.Record) { c.waiting = append(c.waiting, r) })
	c.write(0)
	return c
}

// write writes n events and waits for the acknowledgement of all. Now and then it erases a person
// while the others continue.
func (c *company) write(n int) {
	c.s.t.Helper()
	c.w.Write(n)
	if staff := c.w.Staff(); c.n > 100*(c.erased+1) && len(staff) > 4 {
		c.w.Erase(staff[c.n%len(staff)])
		c.erased++
	}
	for _, r := range c.waiting {
		r.Topic = c.s.topics.Name(r.Topic)
	}
	if err := c.s.client.ProduceSync(context.Background(), c.waiting...).FirstErr(); err != nil {
		c.s.t.Fatal(err)
	}
	c.n += len(c.waiting)
	c.waiting = nil
}

// forCompany returns the site's configuration with the settings of a company.
func (s *site) forCompany(dir string) Config {
	c := s.config(dir)
	c.Settings.FanoutLimit = companyFanout
	return c
}

// remains has the content of the topics after an attack.
type remains struct {
	partitions int32
	settings   projections.Settings
	inputs     []*kgo.Record // under the names of package events
	log        *checker.Log
}

// remains reads the inputs.
func (s *site) remains(settings projections.Settings) *remains {
	s.t.Helper()
	names := s.names()
	r := &remains{partitions: s.partitions, settings: settings, inputs: s.records(names.Inputs[:]...)}
	r.log = checker.NewLog(settings, s.partitions, r.inputs)
	return r
}

// records returns all records of some topics up to their current ends, in the order of each
// partition and under the names of package events.
func (s *site) records(topics ...string) []*kgo.Record {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	ends := s.endsOf(topics...)
	open := map[string]map[int32]int64{}
	from := map[string]map[int32]kgo.Offset{}
	left := 0
	ends.Each(func(end kadm.ListedOffset) {
		if end.Offset == 0 {
			return
		}
		if open[end.Topic] == nil {
			open[end.Topic], from[end.Topic] = map[int32]int64{}, map[int32]kgo.Offset{}
		}
		open[end.Topic][end.Partition], from[end.Topic][end.Partition] = end.Offset, kgo.NewOffset().AtStart()
		left++
	})
	client := s.newClient(kgo.ConsumePartitions(from), kgo.KeepControlRecords())
	defer client.Close()
	var all []*kgo.Record
	for left > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			s.t.Fatalf("read %v, %d partitions to go: %v", topics, left, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			end := open[r.Topic][r.Partition]
			if r.Offset >= end {
				return
			}
			if r.Offset == end-1 {
				left--
			}
			if !r.Attrs.IsControl() {
				c := *r
				c.Topic = strings.TrimPrefix(r.Topic, s.topics.Prefix)
				all = append(all, &c)
			}
		})
	}
	return all
}

// checkStores requires a store at the end of the log for each partition, in one of the data
// directories. Each store must agree with the model, and have the digest of a replay in another
// order (O1 to O5, O11).
func (s *site) checkStores(r *remains, c Config, dirs ...string) {
	s.t.Helper()
	s.withStores(c, dirs, func(p *projections.Partition) {
		checker.Store(r.log, p).Report(s.t)
		n := p.Identity().Partition
		f, err := checker.Digests(p.Identity(), interleaved(r.inputs, n), p.Digest())
		if err != nil {
			s.t.Fatal(err)
		}
		f.Report(s.t)
	})
}

// interleaved returns the records of a partition in a random order, in which each topic keeps its
// own.
func interleaved(records []*kgo.Record, partition int32) (out []*kgo.Record) {
	var of [events.NumInputs][]*kgo.Record
	for _, r := range records {
		if r.Partition == partition {
			in := slices.Index(events.InputTopics[:], r.Topic)
			of[in] = append(of[in], r)
		}
	}
	for {
		var left []int
		for in := range of {
			if len(of[in]) > 0 {
				left = append(left, in)
			}
		}
		if len(left) == 0 {
			return out
		}
		in := left[rand.IntN(len(left))]
		out, of[in] = append(out, of[in][0]), of[in][1:]
	}
}

// checkOutputs compares everything that was published with the model (O6), and the dead letters
// with the bad records (G5). late says that a member may have lost a partition without noticing,
// and may have got it back.
func (s *site) checkOutputs(r *remains, late bool) {
	s.t.Helper()
	names := s.names()
	f := &checker.Findings{What: "tidemark.unread against the model of the log"}
	h := checker.NewHistory(s.records(names.Unread), f)
	h.Reopened = late
	again, back := h.Stamps(f)
	h.Newest(r.log, f)
	checked := h.Each(r.log, rand.New(rand.NewPCG(1, 1)), 400, f)
	f.Report(s.t)
	letters := lettersOf(s.records(names.DeadLetters))
	for i := range letters {
		letters[i].Source = strings.TrimPrefix(letters[i].Source, s.topics.Prefix)
	}
	checker.DeadLetters(r.log, letters, func(r events.Reason) bool { return r == events.ReasonTooManyHeld }).Report(s.t)
	s.t.Logf("%d input records, %d bad ones; %d values of %d keys, %d said again, %d went back, %d checked at their stamps",
		r.log.Records, len(r.log.Bad), h.Records, len(h.Keys), again, back, checked)
	if checked == 0 {
		s.t.Error("no value was checked")
	}
}

// checkRedis waits until Redis equals the model (O7), and fails with the remaining differences.
func (s *site) checkRedis(r *remains, rdb *redis.Client) {
	s.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		f := checker.Redis(context.Background(), r.log, rdb)
		if f.Count == 0 {
			return
		}
		if time.Now().After(deadline) {
			f.Report(s.t)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestInterleavedKeepsTheOrderOfEachTopic: checkStores computes its digests in another order than
// that of the offsets.
func TestInterleavedKeepsTheOrderOfEachTopic(t *testing.T) {
	var records []*kgo.Record
	for i := range 300 {
		records = append(records, &kgo.Record{Topic: events.InputTopics[i/100], Partition: int32(i % 2), Offset: int64(i)})
	}
	out := interleaved(records, 1)
	if len(out) != 150 {
		t.Fatalf("%d records, want 150", len(out))
	}
	last := map[string]int64{}
	for _, r := range out {
		if r.Partition != 1 || r.Offset < last[r.Topic] {
			t.Errorf("%s/%d at offset %d after %d", r.Topic, r.Partition, r.Offset, last[r.Topic])
		}
		last[r.Topic] = r.Offset
	}
	if slices.IsSortedFunc(out, func(a, b *kgo.Record) int { return int(a.Offset - b.Offset) }) {
		t.Error("the topics are not interleaved")
	}
}

func lettersOf(records []*kgo.Record) (out []checker.DeadLetter) {
	for _, r := range records {
		l := checker.DeadLetter{Record: r, Source: strings.Join([]string{header(r, steps.HeaderTopic), header(r, steps.HeaderPartition), header(r, steps.HeaderOffset)}, "/")}
		l.Reason, l.Detail, l.Timestamp = header(r, steps.HeaderReason), header(r, steps.HeaderDetail), header(r, steps.HeaderTimestamp)
		out = append(out, l)
	}
	return out
}
