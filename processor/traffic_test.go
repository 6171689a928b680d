package processor

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/zeebo/xxh3"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/test/workload"
	wrap "github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// traffic writes random events of a small company: channels of 2 to 80 members (some above the
// fan-out limit) who post, read, mark and leave. It is a function of its seed. Only the offsets
// differ, and nothing depends on them.
type traffic struct {
	s        *site
	r        *rand.Rand
	channels [][]string // members by channel
	posted   []int
	written  int
	said     workload.Parts
}

func newTraffic(s *site, seed uint64, channels int) *traffic {
	tr := &traffic{s: s, r: rand.New(rand.NewPCG(seed, 1)), posted: make([]int, channels)}
	var records []*kgo.Record
	for c := range channels {
		members := make([]string, 2+tr.r.IntN(12))
		if c%7 == 0 {
			members = make([]string, 60+tr.r.IntN(20))
		}
		for i := range members {
			members[i] = fmt.Sprintf("user%d", (c*5+i*3)%200)
		}
		tr.channels = append(tr.channels, members)
		records = append(records, tr.record(events.Messages, c, &eventsv1.MessageEvent{ChannelId: tr.name(c),
			Kind: &eventsv1.MessageEvent_MembersJoined{MembersJoined: &eventsv1.MembersJoined{UserIds: members}}}))
	}
	tr.write(records)
	return tr
}

func (tr *traffic) name(c int) string { return fmt.Sprintf("channel-%d", c) }

func (tr *traffic) record(in events.Input, c int, m proto.Message) *kgo.Record {
	events.StateVersion(m)
	v, err := proto.Marshal(m)
	if err != nil {
		tr.s.t.Fatal(err)
	}
	key := []byte(tr.name(c))
	return &kgo.Record{Topic: tr.s.names().Inputs[in], Partition: events.PartitionOf(key, tr.s.partitions), Key: key, Value: v}
}

func (tr *traffic) write(records []*kgo.Record) {
	tr.s.t.Helper()
	if err := tr.s.client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		tr.s.t.Fatal(err)
	}
	tr.written += len(records)
}

// run writes n events.
func (tr *traffic) run(n int) {
	tr.s.t.Helper()
	var records []*kgo.Record
	for range n {
		c := tr.r.IntN(len(tr.channels))
		user := tr.channels[c][tr.r.IntN(len(tr.channels[c]))]
		message := fmt.Sprintf("m%d", tr.r.IntN(tr.posted[c]+2)) // sometimes a message that does not exist yet
		if !tr.said.Nothing() && tr.r.IntN(5) == 0 {
			switch body := tr.said.Body(tr.r, tr.posted[c], time.Unix(1_760_000_000, 0)).(type) {
			case nil:
			case *eventsv1.ChannelUpdated:
				records = append(records, tr.record(events.Messages, c, wrap.Message(tr.name(c), body)))
			default:
				records = append(records, tr.record(events.Reads, c, wrap.Read(tr.name(c), user, body)))
			}
		}
		switch k := tr.r.IntN(20); {
		case k < 8:
			post := &eventsv1.MessagePosted{MessageId: fmt.Sprintf("m%d", tr.posted[c]), SenderId: user, Preview: "hello",
				Mentions: []string{tr.channels[c][0]}, Silent: k == 0}
			if !tr.said.Nothing() {
				tr.said.Post(tr.r, post, tr.channels[c][tr.r.IntN(len(tr.channels[c]))])
			}
			records = append(records, tr.record(events.Messages, c, wrap.Message(tr.name(c), post)))
			tr.posted[c]++
		case k == 8:
			records = append(records, tr.record(events.Messages, c, &eventsv1.MessageEvent{ChannelId: tr.name(c),
				Kind: &eventsv1.MessageEvent_MessageDeleted{MessageDeleted: &eventsv1.MessageDeleted{MessageId: message}}}))
		case k == 9:
			records = append(records, tr.record(events.Reads, c, &eventsv1.ReadEvent{ChannelId: tr.name(c), UserId: user,
				Kind: &eventsv1.ReadEvent_MarkedUnread{MarkedUnread: &eventsv1.MarkedUnread{MessageId: message}}}))
		case k == 10:
			records = append(records, tr.record(events.Reads, c, &eventsv1.ReadEvent{ChannelId: tr.name(c), UserId: user,
				Kind: &eventsv1.ReadEvent_MessagesRead{MessagesRead: &eventsv1.MessagesRead{MessageIds: []string{message}}}}))
		case k == 11:
			records = append(records, tr.record(events.Deliveries, c, &eventsv1.DeliveryEvent{ChannelId: tr.name(c), UserId: user,
				Kind: &eventsv1.DeliveryEvent_Queued{Queued: &eventsv1.Queued{MessageId: message}}}))
		default:
			read := wrap.ReadID(message)
			tr.said.Read(tr.r, read)
			records = append(records, tr.record(events.Reads, c, wrap.Read(tr.name(c), user, read)))
		}
	}
	tr.write(records)
}

// endsOf lists the ends of topics. It asks again until each partition's leader has answered: a
// partition without a leader has its own error and an offset of -1.
func (s *site) endsOf(topics ...string) kadm.ListedOffsets {
	s.t.Helper()
	var listed kadm.ListedOffsets
	var err error
	for range 100 {
		if listed, err = s.admin().ListEndOffsets(context.Background(), topics...); err == nil {
			if err = listed.Error(); err == nil {
				return listed
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.t.Fatalf("ends of %v: %v", topics, err)
	return nil
}

// ends returns the ends of the input logs, by partition.
func (s *site) ends() []projections.Position {
	s.t.Helper()
	inputs := s.names().Inputs
	listed := s.endsOf(inputs[:]...)
	ends := make([]projections.Position, s.partitions)
	for i, topic := range inputs {
		for p := range ends {
			ends[p][i] = listed[topic][int32(p)].Offset
		}
	}
	return ends
}

// caughtUp waits until the members together have folded everything.
func (s *site) caughtUp(members ...*member) {
	s.t.Helper()
	ends := s.ends()
	var folded, before projections.Position
	all := func() bool {
		done := 0
		folded = projections.Position{}
		for _, m := range members {
			for _, st := range m.Status() {
				for i := range folded {
					folded[i] += st.Position[i]
				}
				if st.State == StateFailed {
					s.t.Fatalf("partition %d failed: %v", st.Partition, st.Err)
				}
				if st.State == StateLive && st.Position == ends[st.Partition] {
					done++
				}
			}
		}
		return done == len(ends)
	}
	// A long log takes a while, so the loop continues as long as the members make progress.
	for finished := false; !finished; before = folded {
		until(s.t, "everything is folded", func() bool { finished = all(); return finished || folded != before })
	}
}

// digests returns the digests of the stores that have everything, by partition; see withStores.
func (s *site) digests(c Config, dirs ...string) [][16]byte {
	s.t.Helper()
	digests := make([][16]byte, s.partitions)
	s.withStores(c, dirs, func(p *projections.Partition) { digests[p.Identity().Partition] = p.Digest() })
	return digests
}

// withStores passes a store of each partition that has everything to show. One of the data
// directories must have such a store. If several do, their digests must agree.
func (s *site) withStores(c Config, dirs []string, show func(*projections.Partition)) {
	s.t.Helper()
	ends := s.ends()
	p := &engine.Engine{Config: setup.Checked{Config: c}, Admin: s.admin()}
	id, err := p.LookUp(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	p.Cluster.Store(id)
	for n := range s.partitions {
		var digest [16]byte
		found := false
		for _, dir := range dirs {
			path := StoreDir(dir, n)
			if matches, _ := filepath.Glob(path); len(matches) == 0 {
				continue
			}
			store, err := projections.Open(path, p.IdentityOf(n), projections.Options{})
			if err != nil {
				s.t.Fatal(err)
			}
			switch {
			case store.StoredPosition() != ends[n]:
			case found && digest != store.Digest():
				s.t.Errorf("partition %d has digests %x and %x at the same position", n, digest, store.Digest())
			case !found:
				found, digest = true, store.Digest()
				show(store)
			}
			if err := store.Close(); err != nil {
				s.t.Fatal(err)
			}
		}
		if !found {
			s.t.Errorf("no store of partition %d is at its end %v", n, ends[n])
		}
	}
}

// published has the values with the dominating stamps, by topic and key.
type published struct {
	newest map[string][]byte
	last   map[string]events.Stamp
	// standing returns the last value of each key in the log, which compaction leaves.
	standing map[string][]byte
	count    int
	again    int // values with a stamp that had occurred before
}

// outputs reads the outputs of a site that has one owner at a time.
func (s *site) outputs() *published {
	s.t.Helper()
	return s.outputsOf(1)
}

// outputsOf reads the output topics to their ends, as a cache would. If two records of a key have
// the same stamp, they must have the same bytes (except for the origin's name). Of two stamps of a
// key one must dominate, unless there were several owners at once.
func (s *site) outputsOf(owners int) *published {
	s.t.Helper()
	names := s.names()
	topics := []string{names.Unread, names.Channels}
	listed := s.endsOf(topics...)
	want := int64(0)
	listed.Each(func(o kadm.ListedOffset) { want += o.Offset })
	client := s.newClient(kgo.ConsumeTopics(topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer client.Close()
	o := &published{newest: map[string][]byte{}, last: map[string]events.Stamp{}, standing: map[string][]byte{}}
	seen := map[xxh3.Uint128]xxh3.Uint128{} // hashes of the values by key and stamp: there may be millions
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute+time.Duration(want)*time.Millisecond)
	defer cancel()
	for int64(o.count) < want {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			s.t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			o.count++
			value, stamp := s.comparable(r)
			key := strings.TrimPrefix(r.Topic, s.topics.Prefix) + "\x00" + string(r.Key)
			at, digest := xxh3.HashString128(fmt.Sprintf("%s\x00%v", key, stamp)), xxh3.Hash128(value)
			if was, ok := seen[at]; ok {
				o.again++
				if was != digest {
					s.t.Errorf("%s %q has two values with stamp %v, one of them\n%s", r.Topic, r.Key, stamp, readable(value))
				}
			}
			seen[at] = digest
			o.standing[key] = value
			old := o.last[key]
			if owners == 1 && !stamp.Dominates(old) && !old.Dominates(stamp) {
				s.t.Errorf("%s %q: of stamps %v and %v neither dominates", r.Topic, r.Key, old, stamp)
			}
			if stamp.Dominates(old) || !old.Dominates(stamp) {
				o.newest[key], o.last[key] = value, stamp
			}
		})
	}
	return o
}

// comparable returns a value without its stamp and its origin's name, and the stamp. The origin is
// a hint. The newest stamp may or may not include records that changed nothing, depending on where
// batches ended.
func (s *site) comparable(r *kgo.Record) ([]byte, events.Stamp) {
	s.t.Helper()
	if r.Topic == s.names().Channels {
		var c events.ChannelRecord
		if err := events.DecodeChannelRecord(r.Value, &c); err != nil {
			s.t.Fatal(err)
		}
		stamp := c.Stamp
		c.Stamp = events.Stamp{}
		return events.AppendChannelRecord(nil, &c), stamp
	}
	var d events.UnreadDelta
	if err := events.DecodeUnreadDelta(r.Value, &d); err != nil {
		s.t.Fatal(err)
	}
	stamp := d.Stamp
	d.InstanceID, d.Stamp = nil, events.Stamp{}
	return events.AppendUnreadDelta(nil, &d), stamp
}

// readable formats a value of either topic.
func readable(value []byte) string {
	var d events.UnreadDelta
	if err := events.DecodeUnreadDelta(value, &d); err != nil {
		return fmt.Sprintf("%x", value)
	}
	return fmt.Sprintf("%q %+v", value, d)
}

// sameNewest fails unless both have the same newest value of every key.
func sameNewest(t testing.TB, what string, got, want *published) {
	t.Helper()
	if len(got.newest) != len(want.newest) {
		t.Errorf("%s: %d keys, want %d", what, len(got.newest), len(want.newest))
	}
	wrong := 0
	for key, value := range want.newest {
		if !bytes.Equal(got.newest[key], value) {
			if wrong++; wrong < 5 {
				t.Errorf("%s: newest of %q has stamp %v, want %v:\n%s\n%s", what, key, got.last[key], want.last[key],
					readable(got.newest[key]), readable(value))
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%s: %d of %d newest values differ", what, wrong, len(want.newest))
	}
}

// sameStanding fails unless the last values in the log are those in want.
func sameStanding(t testing.TB, what string, got, want *published) {
	t.Helper()
	sameNewest(t, what+", as compaction leaves it", &published{newest: got.standing, last: got.last}, want)
}
