package steps

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// timedFold is a partition with a clock that moves only while it folds.
type timedFold struct {
	setup.Fold
	clock   *time.Time
	each    time.Duration // duration of a message
	panicAt int64         // offset of a message; -1: none
	letGo   func()        // called when the lock is released

	holds   int
	since   time.Time
	longest time.Duration
}

func (f *timedFold) Lock() {
	f.Fold.Lock()
	f.holds, f.since = f.holds+1, *f.clock
}

func (f *timedFold) Unlock() {
	f.longest = max(f.longest, f.clock.Sub(f.since))
	f.Fold.Unlock()
	f.letGo()
}

func (f *timedFold) FoldMessage(m *events.Message, offset, timestamp int64) projections.Outcome {
	if *f.clock = f.clock.Add(f.each); offset == f.panicAt {
		panic("boom")
	}
	return f.Fold.FoldMessage(m, offset, timestamp)
}

// timedStage returns a stage that folds into a partition.
func timedStage(t *testing.T, each time.Duration) (*stage, *timedFold) {
	t.Helper()
	s := newStage(t, opening.Plan{}, nil)
	id := projections.Identity{ClusterID: "x", Partitions: 1, Settings: projections.DefaultSettings()}
	for i, name := range events.InputTopics {
		id.Topics[i] = projections.TopicIdentity{Name: name, ID: [16]byte{byte(i + 1)}}
	}
	p, err := setup.Open("store", id, projections.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	f := &timedFold{Fold: p, clock: &s.now, each: each, panicAt: -1, letGo: func() {}}
	s.w.Fold = f
	return s, f
}

func (s *stage) messages(list ...*eventsv1.MessageEvent) {
	var records []*kgo.Record
	for _, m := range list {
		m.ChannelId = "c"
		records = append(records, s.record(events.Messages, marshal(s.t, m)))
	}
	s.w.Inbox.Fetch(events.Messages, records, s.next[events.Messages])
}

func joined(users ...string) *eventsv1.MessageEvent {
	return &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MembersJoined{MembersJoined: &eventsv1.MembersJoined{UserIds: users}}}
}

// TestTheFoldLetsGo: a batch releases the lock after 2 ms plus at most the time of 16 records, or
// fewer if they are large. Queries in between see the state after that many records, even if they
// complete their answer later.
func TestTheFoldLetsGo(t *testing.T) {
	crowd := make([]string, 1000)
	for i := range crowd {
		crowd[i] = fmt.Sprintf("user-%05d", i)
	}
	for name, c := range map[string]struct {
		each           time.Duration
		large          bool
		holds, records int // the largest number under one hold
	}{
		"quick":           {0, false, 1, lockRecords},
		"50 us a record":  {50 * time.Microsecond, false, 6, 3 * foldLook},
		"500 us a record": {500 * time.Microsecond, false, 16, foldLook},
		"1 ms and 12 KiB": {time.Millisecond, true, 128, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s, f := timedStage(t, c.each)
			list := []*eventsv1.MessageEvent{joined("ann")}
			for i := 1; i < lockRecords; i++ {
				m := posted("c", fmt.Sprintf("m%d", i), "bob")
				if c.large {
					m = joined(crowd...)
				}
				list = append(list, m)
			}
			part := f.Projection()
			var positions []int64
			var kept *projections.ExplainWalk // begun under one hold, completed after later ones
			var want int
			f.letGo = func() {
				part.RLock()
				defer part.RUnlock()
				at := part.Position()[events.Messages]
				positions = append(positions, at)
				unread := uint32(at - 1)
				if c.large {
					unread = 0
				}
				if v, ok := part.View("ann", "c"); !ok || v.Unread != unread {
					t.Errorf("after %d records ann has %d unread, want %d", at, v.Unread, unread)
				}
				if kept == nil {
					kept, _ = part.BeginExplain("ann", "c")
					want = int(unread)
				}
			}
			s.messages(list...)
			s.w.receive(s.now)
			if s.w.foldSome(s.now); s.w.err != nil {
				t.Fatal(s.w.err)
			}
			if f.holds != c.holds || f.longest > foldHold+time.Duration(c.records)*c.each {
				t.Errorf("%d holds, the longest of %v; want %d of %d records at most", f.holds, f.longest, c.holds, c.records)
			}
			if last := positions[len(positions)-1]; last != lockRecords {
				t.Errorf("the batch ends at %d of %d records", last, lockRecords)
			}
			if v, err := kept.End(t.Context()); err != nil || len(v.MessageIDs) != want {
				t.Errorf("an answer that was begun at %d says %d messages, want %d (%v)", positions[0], len(v.MessageIDs), want, err)
			}
			if got := s.w.Progress.At(); got != (projections.Position{lockRecords}) {
				t.Errorf("whoever waits is told of %v", got)
			}
		})
	}
}

// TestAPanicAfterTheFoldLetGo: the error names the record, and no query reads the state that the
// panic left.
func TestAPanicAfterTheFoldLetGo(t *testing.T) {
	s, f := timedStage(t, time.Millisecond)
	live := true
	f.letGo = func() { live = s.w.Live.Load() != nil }
	f.panicAt = 40
	list := []*eventsv1.MessageEvent{joined("ann")}
	for i := range 99 {
		list = append(list, posted("c", fmt.Sprintf("m%d", i), "bob"))
	}
	s.messages(list...)
	if !s.step() {
		t.Fatal("the partition goes on")
	}
	if err := s.w.Failed(); !strings.Contains(err.Error(), "chat.messages/0 at offset 40") || !strings.Contains(err.Error(), "boom") {
		t.Errorf("error %.120q does not name the record and the panic", err)
	}
	if f.holds != 3 || live {
		t.Errorf("%d holds, want 3; live when the lock was let go of: %t", f.holds, live)
	}
	if got := f.Position(); !reflect.DeepEqual(got, projections.Position{40}) {
		t.Errorf("at %v, want what is before the record", got)
	}
	if len(s.sent) != 0 || len(s.acked) != 0 {
		t.Error("something of a broken fold was published or committed")
	}
}

func posted(channel, id, sender string) *eventsv1.MessageEvent {
	m := &eventsv1.MessagePosted{MessageId: id, SenderId: sender}
	return &eventsv1.MessageEvent{ChannelId: channel, Kind: &eventsv1.MessageEvent_MessagePosted{MessagePosted: m}}
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	v, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
