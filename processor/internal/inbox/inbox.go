package inbox

import (
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/merge"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/projections"
)

// Inbox receives everything that the rest of the process sends to a partition's goroutine: fetched
// records, acknowledgements, written cuts and the order to stop. Other goroutines write to no other
// part of a worker.
type Inbox struct {
	// Partition is the number of the partition.
	Partition int32
	// Starved is true while the goroutine has nothing to fold, or waits for an input that is
	// behind. The goroutine sets it.
	Starved atomic.Bool

	// Wake holds one value while the inbox has news.
	Wake chan struct{}
	// SetFlow pauses and resumes the fetching of an input.
	SetFlow func(in events.Input, paused bool)

	mu        sync.Mutex
	closed    bool
	news      News
	bytes     [events.NumInputs]int64 // bytes of received records that are not folded yet
	paused    [events.NumInputs]bool
	pausedAll bool                 // all inputs are paused, however little they hold
	failed    bool                 // they stay paused, because the partition cannot be fetched
	next      projections.Position // the offsets to fetch next
	begun     bool                 // next is set; records that came before were fetched for an earlier worker
	max       int64                // an input with this many bytes is paused, and resumed at half of it
	total     *atomic.Int64        // bytes of all inboxes of the process
}

// News is everything that came since the last Take.
type News struct {
	Fetched [events.NumInputs][]fetched
	// Published and Applied are the outcomes of the operations that the goroutine started, nil
	// while they run.
	Published, Applied *outcome
	Failed             error                 // why the partition cannot be fetched
	Until              *projections.Position // the position up to which a standby may fold
	Promoted           *opening.Order        // makes a standby the owner
	Stop               StopKind
}

type fetched struct {
	Records []*kgo.Record
	Batches []byte // instead of records: undecoded batches
	Next    int64  // the offset after these records
	End     int64  // the log's end when they were fetched
}

type outcome struct{ Err error }

// StopKind is the way in which a partition ends.
type StopKind uint8

// Ways to end, the stronger ones later.
const (
	StopNone  StopKind = iota
	StopClean          // publish, store and commit everything that was folded
	StopAbort          // drop unacknowledged changes: another member may already own the partition
)

// New creates the inbox of a partition. setFlow pauses an input that holds max bytes. total counts
// the bytes of all inboxes of the process.
func New(partition int32, max int64, total *atomic.Int64, setFlow func(in events.Input, paused bool)) *Inbox {
	return &Inbox{Partition: partition, Wake: make(chan struct{}, 1), max: max, total: total, SetFlow: setFlow}
}

// change runs f under the lock and wakes the goroutine.
func (b *Inbox) change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		f()
	}
	select {
	case b.Wake <- struct{}{}:
	default:
	}
}

// Poke wakes the goroutine without news.
func (b *Inbox) Poke() { b.change(func() {}) }

// Fetch delivers records of one input. It never blocks; an input that holds too much is paused.
func (b *Inbox) Fetch(in events.Input, records []*kgo.Record, end int64) {
	var n int64
	for _, r := range records {
		n += merge.RecordBytes(r)
	}
	var next int64
	if len(records) > 0 {
		next = records[len(records)-1].Offset + 1
	}
	b.deliver(in, fetched{Records: records, Next: next, End: end}, n)
}

// FetchBatches is Fetch for undecoded batches, which end before offset next.
func (b *Inbox) FetchBatches(in events.Input, batches []byte, next, end int64) {
	b.deliver(in, fetched{Batches: batches, Next: next, End: end}, int64(len(batches)))
}

func (b *Inbox) deliver(in events.Input, f fetched, n int64) {
	b.change(func() {
		if !b.begun {
			return
		}
		b.news.Fetched[in] = append(b.news.Fetched[in], f)
		b.next[in] = max(b.next[in], f.Next)
		b.bytes[in] += n
		b.total.Add(n)
		if b.bytes[in] >= b.max && !b.paused[in] {
			b.paused[in] = true
			b.SetFlow(in, true)
		}
	})
}

// Consumed subtracts folded records, in bytes of each input, and resumes inputs that have space
// again.
func (b *Inbox) Consumed(n [events.NumInputs]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	for i := range n {
		b.bytes[i] -= n[i]
		b.total.Add(-n[i])
		if b.paused[i] && !b.pausedAll && b.bytes[i] < b.max/2 {
			b.paused[i] = false
			b.SetFlow(events.Input(i), false)
		}
	}
}

// PauseAll pauses all inputs. With on false it resumes those that have space, unless Fail has
// paused them.
func (b *Inbox) PauseAll(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	on = on || b.failed
	b.pausedAll = on
	for i := range b.paused {
		if paused := on || b.bytes[i] >= b.max/2; !b.closed && paused != b.paused[i] {
			b.paused[i] = paused
			b.SetFlow(events.Input(i), paused)
		}
	}
}

// SetMax changes how many bytes an input may hold. It is called when the number of partitions
// changes.
func (b *Inbox) SetMax(max int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.max = max
}

// Queued returns how many bytes wait to be folded.
func (b *Inbox) Queued() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	var n int64
	for _, v := range b.bytes {
		n += v
	}
	return n
}

// Expect sets the position from which records will come. Earlier records were fetched for another
// worker and are dropped.
func (b *Inbox) Expect(from projections.Position) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next, b.begun = from, true
}

// Expected returns the offsets to fetch next.
func (b *Inbox) Expected() projections.Position {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next
}

// Fail ends the partition in order, because it can no longer be fetched. It pauses the inputs,
// because a client reports some errors with each fetch, and one report is enough.
func (b *Inbox) Fail(err error) {
	b.change(func() {
		b.news.Failed = err
		b.failed, b.pausedAll = true, true
		b.pauseRest()
	})
}

// CutOff ends the partition at once with an error: nothing more is published or stored.
func (b *Inbox) CutOff(err error) {
	b.change(func() { b.news.Failed, b.news.Stop = err, StopAbort })
}

// PublishDone delivers the outcome of a publication.
func (b *Inbox) PublishDone(err error) {
	b.change(func() { b.news.Published = &outcome{err} })
}

// ApplyDone delivers the outcome of writing a cut.
func (b *Inbox) ApplyDone(err error) {
	b.change(func() { b.news.Applied = &outcome{err} })
}

// Stop orders the end. An abort overrides a clean stop, never the other way round.
func (b *Inbox) Stop(k StopKind) {
	b.change(func() { b.news.Stop = max(b.news.Stop, k) })
}

// Allow lets a standby fold up to a position.
func (b *Inbox) Allow(until projections.Position) {
	b.change(func() { b.news.Until = &until })
}

// Promote makes a standby the owner.
func (b *Inbox) Promote(o opening.Order) {
	b.change(func() { b.news.Promoted = &o })
}

// Reroute changes the client that fetches, and pauses the paused inputs there too.
func (b *Inbox) Reroute(setFlow func(in events.Input, paused bool)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.SetFlow = setFlow
	for i, paused := range b.paused {
		if paused {
			setFlow(events.Input(i), true)
		}
	}
}

// Switch changes who fetches an input. From now on setFlow pauses and resumes the inputs; f learns
// whether this one is paused, and the offset to fetch next. Switch does nothing and returns false if
// no records are expected: the worker has not begun, or has ended.
func (b *Inbox) Switch(in events.Input, setFlow func(in events.Input, paused bool), f func(paused bool, next int64)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || !b.begun {
		return false
	}
	b.SetFlow = setFlow
	f(b.paused[in], b.next[in])
	return true
}

// Peek returns the reasons to end a worker that has not begun, and leaves everything else in the
// inbox. The order to begin and the first records come from different goroutines, in either order.
func (b *Inbox) Peek() (stop StopKind, failed error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.news.Stop, b.news.Failed
}

// Take returns the news and clears it, except the order to stop.
func (b *Inbox) Take() News {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.news
	b.news = News{Stop: n.Stop}
	return n
}

// Close makes the inbox refuse everything from now on. With pause it also pauses its inputs, whose
// records would not be folded.
func (b *Inbox) Close(pause bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.closed = true
	b.news = News{}
	for i := range b.paused {
		b.total.Add(-b.bytes[i])
		b.bytes[i] = 0
	}
	if pause {
		b.pauseRest()
	}
}

// pauseRest pauses the inputs that are not paused. The caller holds mu.
func (b *Inbox) pauseRest() {
	for i := range b.paused {
		if !b.paused[i] {
			b.paused[i] = true
			b.SetFlow(events.Input(i), true)
		}
	}
}

// Closed reports whether the inbox refuses everything.
func (b *Inbox) Closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}
