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
	"github.com/tidemark/tidemark/projections"
)

// traffic writes random events of a small company: channels of 2 to 80 members (some above the fan-out limit) who post,
// read, mark and leave. It is a function of its seed but for the offsets, which depend on nothing else.
type traffic struct {
	s        *site
	r        *rand.Rand
	channels [][]string // members by channel
	posted   []int
	written  int
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
		message := fmt.Sprintf("m%d", tr.r.IntN(tr.posted[c]+2)) // now and then one that is not there yet
		switch k := tr.r.IntN(20); {
		case k < 8:
			records = append(records, tr.record(events.Messages, c, &eventsv1.MessageEvent{ChannelId: tr.name(c),
				Kind: &eventsv1.MessageEvent_MessagePosted{MessagePosted: &eventsv1.MessagePosted{
					MessageId: fmt.Sprintf("m%d", tr.posted[c]), SenderId: user, Preview: "hello", Mentions: []string{tr.channels[c][0]},
					Silent: k == 0}}}))
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
			records = append(records, tr.record(events.Reads, c, &eventsv1.ReadEvent{ChannelId: tr.name(c), UserId: user,
				Kind: &eventsv1.ReadEvent_ReadUpTo{ReadUpTo: &eventsv1.ReadUpTo{Target: &eventsv1.ReadUpTo_MessageId{MessageId: message}}}}))
		}
	}
	tr.write(records)
}

// ends are the ends of the input logs, by partition.
func (s *site) ends() []projections.Position {
	s.t.Helper()
	inputs := s.names().Inputs
	listed, err := s.admin().ListEndOffsets(context.Background(), inputs[:]...)
	if err != nil {
		s.t.Fatal(err)
	}
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
	// A long log takes its time: what is waited for is that the members come further.
	for finished := false; !finished; before = folded {
		until(s.t, "everything is folded", func() bool { finished = all(); return finished || folded != before })
	}
}

// digests are those of the stores that have everything, by partition; see withStores.
func (s *site) digests(c Config, dirs ...string) [][16]byte {
	s.t.Helper()
	digests := make([][16]byte, s.partitions)
	s.withStores(c, dirs, func(p *projections.Partition) { digests[p.Identity().Partition] = p.Digest() })
	return digests
}

// withStores shows a store of each partition that has everything. One of the data directories must have such a store;
// where several do their digests must agree.
func (s *site) withStores(c Config, dirs []string, show func(*projections.Partition)) {
	s.t.Helper()
	ends := s.ends()
	p := &Processor{cfg: c, admin: s.admin()}
	id, err := p.lookUp(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	p.cluster.Store(id)
	for n := range s.partitions {
		var digest [16]byte
		found := false
		for _, dir := range dirs {
			path := StoreDir(dir, n)
			if matches, _ := filepath.Glob(path); len(matches) == 0 {
				continue
			}
			store, err := projections.Open(path, p.identityOf(n), projections.Options{})
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

// outputs are the values with the dominating stamps, by topic and key.
type outputs struct {
	newest map[string][]byte
	last   map[string]events.Stamp
	count  int
	again  int // values with a stamp that was there before
}

// outputs reads what one owner at a time has published.
func (s *site) outputs() *outputs {
	s.t.Helper()
	return s.outputsOf(1)
}

// outputsOf reads the output topics to their ends, as a cache would. Wherever two records of a key have the same stamp
// they must have the same bytes (but for the origin's name), and of two stamps of a key one must dominate, unless there
// were several owners at once.
func (s *site) outputsOf(owners int) *outputs {
	s.t.Helper()
	names := s.names()
	topics := []string{names.Unread, names.Channels}
	adm := s.admin()
	listed, err := adm.ListEndOffsets(context.Background(), topics...)
	if err != nil {
		s.t.Fatal(err)
	}
	want := int64(0)
	listed.Each(func(o kadm.ListedOffset) { want += o.Offset })
	client := s.newClient(kgo.ConsumeTopics(topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer client.Close()
	o := &outputs{newest: map[string][]byte{}, last: map[string]events.Stamp{}}
	seen := map[xxh3.Uint128]xxh3.Uint128{} // what was said with a stamp of a key, hashed: there may be millions
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second+time.Duration(want)*time.Millisecond)
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
			at, said := xxh3.HashString128(fmt.Sprintf("%s\x00%v", key, stamp)), xxh3.Hash128(value)
			if was, ok := seen[at]; ok {
				o.again++
				if was != said {
					s.t.Errorf("%s %q has two values with stamp %v, one of them\n%s", r.Topic, r.Key, stamp, readable(value))
				}
			}
			seen[at] = said
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

// comparable is a value without its stamp and its origin's name, and the stamp. The origin is a hint. Which of the
// records that changed nothing the newest value's stamp counts in depends on where batches ended.
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

// readable shows a value of either topic.
func readable(value []byte) string {
	var d events.UnreadDelta
	if err := events.DecodeUnreadDelta(value, &d); err != nil {
		return fmt.Sprintf("%x", value)
	}
	return fmt.Sprintf("%q %+v", value, d)
}

// sameNewest fails unless both have the same newest value of every key.
func sameNewest(t testing.TB, what string, got, want *outputs) {
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
