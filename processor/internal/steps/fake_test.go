package steps

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/home"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/metrics"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/outputs"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// fakeFold counts, records and fails on demand. Every folded event makes one change, and a change
// by chat.messages is fan-out.
type fakeFold struct {
	sync.Mutex
	position, stored projections.Position
	folded           []string // topic number and offset
	skipped          []string
	changed, fanout  int // since the last drain
	drains           []bool
	recordDrains     int // drains of channel records alone
	cuts             int
	dirty            int64
	forgets          bool // whether cuts do
	quiet            bool
	rareCut          int64
	users            int // number of the user of an event that is not fan-out; 0 = 1
	unlisted         int // channels that List has yet to list
	listErr          error
	crowded          float64
	cold             bool
	onFold           func()
	outcome          projections.Outcome
	panicAt          int64 // offset; -1: never
	closed           bool
	err              error
	full             error
}

func newFakeFold() *fakeFold { return &fakeFold{panicAt: -1} }

func (f *fakeFold) fold(in events.Input, offset int64) projections.Outcome {
	if f.TryLock() {
		panic("folded without the lock")
	}
	if f.onFold != nil {
		f.onFold()
	}
	if offset == f.panicAt {
		panic("boom")
	}
	f.folded = append(f.folded, fmt.Sprintf("%d:%d", in, offset))
	f.position[in] = offset + 1
	f.dirty++
	f.changed++
	if in == events.Messages {
		f.fanout++
	}
	return f.outcome
}

func (f *fakeFold) FoldMessage(_ *events.Message, offset, _ int64) projections.Outcome {
	return f.fold(events.Messages, offset)
}

func (f *fakeFold) FoldRead(_ *events.Read, offset, _ int64) projections.Outcome {
	return f.fold(events.Reads, offset)
}

func (f *fakeFold) FoldDelivery(_ *events.Delivery, offset, _ int64) projections.Outcome {
	return f.fold(events.Deliveries, offset)
}

func (f *fakeFold) Skip(in events.Input, next int64) {
	f.skipped = append(f.skipped, fmt.Sprintf("%d:%d", in, next))
	f.position[in] = max(f.position[in], next)
}

func (f *fakeFold) Drain(d *projections.Deltas, full bool) {
	f.drains = append(f.drains, full)
	n := f.changed - f.fanout
	if full {
		n = f.changed
	}
	for range n {
		if d != nil {
			d.Records = append(d.Records, projections.OutRecord{Key: []byte("k"), Value: []byte("v")})
		}
	}
	f.changed -= n
	if full {
		f.fanout = 0
	}
}

func (f *fakeFold) DrainRecords(d *projections.Deltas) {
	f.recordDrains++
	d.Records = append(d.Records, projections.OutRecord{Topic: projections.OutChannels, Key: []byte("c"), Value: []byte("v")})
}

func (f *fakeFold) TimeHold(string) func() { return func() {} }

func (f *fakeFold) Republish(projections.Position) {}

func (f *fakeFold) Quiet(on bool) { f.quiet = on }

func (f *fakeFold) Undrained(fanout bool) int {
	n := (f.changed - f.fanout) * max(1, f.users)
	if fanout {
		n += f.fanout
	}
	return n
}

func (f *fakeFold) DirtyBytes() int64 { return f.dirty }
func (f *fakeFold) RareCut() int64    { return f.rareCut }

func (f *fakeFold) Fetch([][]byte) error { return nil }
func (f *fakeFold) Rest()                {}
func (f *fakeFold) Listed() bool         { return f.unlisted == 0 }

func (f *fakeFold) List(n int) (bool, error) {
	f.unlisted = max(f.unlisted-n, 0)
	return f.unlisted > 0 && f.listErr == nil, f.listErr
}
func (f *fakeFold) Crowded() float64                       { return f.crowded }
func (f *fakeFold) AnyCold() bool                          { return f.cold }
func (f *fakeFold) Warm([]*events.Message, []*events.Read) {}

func (f *fakeFold) TakeCut() (setup.Cut, error) {
	if f.changed > 0 {
		return nil, fmt.Errorf("cut with %d changes that were not drained", f.changed)
	}
	f.cuts++
	f.dirty = 0
	return &fakeCut{f, f.position}, f.err
}

func (f *fakeFold) Position() projections.Position       { return f.position }
func (f *fakeFold) StoredPosition() projections.Position { return f.stored }
func (f *fakeFold) Err() error                           { return nil }
func (f *fakeFold) Full() error                          { return f.full }
func (f *fakeFold) Close() error                         { f.closed = true; return nil }
func (f *fakeFold) Projection() *projections.Partition   { return new(projections.Partition) }

type fakeCut struct {
	f  *fakeFold
	at projections.Position
}

func (c *fakeCut) Apply() error  { c.f.stored = c.at; return nil }
func (c *fakeCut) Forgets() bool { return c.f.forgets }

// stage drives one worker by hand: its publications and cuts wait until the test answers.
type stage struct {
	t     *testing.T
	w     *Worker
	fold  *fakeFold
	now   time.Time
	sent  [][]*kgo.Record // sets that were published
	cuts  []setup.Cut     // cuts that wait to be written
	acked []projections.Position
	group projections.Position // the group's offsets
	next  [events.NumInputs]int64
}

func (s *stage) Publish(_ *Worker, records outputs.Outgoing) {
	s.sent = append(s.sent, records.Records())
}
func (s *stage) Apply(_ *Worker, c setup.Cut) { s.cuts = append(s.cuts, c) }
func (s *stage) Acknowledged(_ int32, position projections.Position) {
	s.acked = append(s.acked, position)
}

func (s *stage) Committed(int32) projections.Position { return s.group }

// newStage returns a stage with a worker for partition 0 of 1, whose opening follows plan.
func newStage(t *testing.T, plan opening.Plan, change func(*setup.Config)) *stage {
	t.Helper()
	s := readyStage(t, plan.From, change)
	s.w.start(s.now, plan, plan.Until)
	return s
}

// readyStage returns a worker whose store is open at a position and that has no order to begin yet.
func readyStage(t *testing.T, from projections.Position, change func(*setup.Config)) *stage {
	t.Helper()
	c := setup.Config{Brokers: []string{"x"}, Group: "g", DataDir: "d", CutEvery: time.Second}
	s := &stage{t: t, fold: newFakeFold(), now: time.UnixMilli(1_700_000_000_000)}
	setup.HooksOf(&c).Now = func() time.Time { return s.now }
	if change != nil {
		change(&c)
	}
	cfg, err := setup.Check(c)
	if err != nil {
		t.Fatal(err)
	}
	s.fold.position, s.fold.stored = from, from
	e := engine.New(cfg)
	s.w = &Worker{count: 1, cfg: &e.Config, out: s, log: e.Log, Fold: s.fold, metrics: &metrics.Worker{Set: e.Metrics}}
	s.w.Life.Taken = cfg.Taken
	s.w.Inbox = inbox.New(0, 1<<20, new(atomic.Int64), func(events.Input, bool) {})
	s.w.Home = home.New(t.Context(), e, s.w.Inbox, nil)
	s.w.Inbox.Expect(from)
	s.next = from
	return s
}

// add delivers n events of one input, with timestamps one millisecond apart that begin at now.
func (s *stage) add(in events.Input, n int) {
	s.t.Helper()
	records := s.records(in, n)
	s.w.Inbox.Fetch(in, records, s.next[in])
}

func (s *stage) records(in events.Input, n int) []*kgo.Record {
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = s.record(in, eventValue(s.t, in))
	}
	return records
}

func (s *stage) record(in events.Input, value []byte) *kgo.Record {
	r := &kgo.Record{Topic: events.InputTopics[in], Offset: s.next[in], Value: value, Key: []byte("c"),
		Timestamp: s.now.Add(time.Duration(s.next[in]) * time.Millisecond)}
	s.next[in]++
	return r
}

func eventValue(t testing.TB, in events.Input) []byte {
	var m proto.Message
	switch in {
	case events.Messages:
		m = &eventsv1.MessageEvent{ChannelId: "c", Kind: &eventsv1.MessageEvent_MessagePosted{
			MessagePosted: &eventsv1.MessagePosted{MessageId: "m", SenderId: "u"}}}
	case events.Reads:
		m = &eventsv1.ReadEvent{ChannelId: "c", UserId: "u", Kind: &eventsv1.ReadEvent_ReadUpTo{
			ReadUpTo: &eventsv1.ReadUpTo{Target: &eventsv1.ReadUpTo_Seq{Seq: 1}}}}
	default:
		m = &eventsv1.DeliveryEvent{ChannelId: "c", UserId: "u", Kind: &eventsv1.DeliveryEvent_Queued{
			Queued: &eventsv1.Queued{MessageId: "m"}}}
	}
	v, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// step steps until the worker would sleep, and reports whether it has ended.
func (s *stage) step() bool {
	s.t.Helper()
	for range 10_000 {
		sleep, ended := s.w.safeStep()
		if ended || sleep > 0 {
			return ended
		}
	}
	s.t.Fatal("the worker never sleeps")
	return false
}

// ack acknowledges the set in flight.
func (s *stage) ack() { s.w.Inbox.PublishDone(nil) }

// write writes the cut that waits.
func (s *stage) write() {
	s.t.Helper()
	if len(s.cuts) != 1 {
		s.t.Fatalf("%d cuts wait to be written, want 1", len(s.cuts))
	}
	err := s.cuts[0].Apply()
	s.cuts = nil
	s.w.Inbox.ApplyDone(err)
}

func (s *stage) pass(d time.Duration) { s.now = s.now.Add(d) }
