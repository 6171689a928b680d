package processor

import (
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// inbox is how the rest of the process talks to a partition's goroutine: fetched records, acknowledgements, written cuts
// and the order to stop. It is the only part of a worker that others write to.
type inbox struct {
	wake chan struct{} // holds one value while there is something new

	mu      sync.Mutex
	closed  bool
	news    news
	bytes   [events.NumInputs]int64 // of records that came in and are not folded yet
	paused  [events.NumInputs]bool
	held    bool                 // all are paused, whatever they hold
	next    projections.Position // what is to be fetched next
	begun   bool                 // next is known: what comes before that was fetched for an earlier worker
	max     int64                // bytes of one input at which it is paused; resumed at half of it
	total   *atomic.Int64        // bytes of all inboxes of the process
	setFlow func(in events.Input, paused bool)
}

// news is what came since the last look.
type news struct {
	fetched [events.NumInputs][]fetched
	// Outcomes of what the goroutine started; nil until they are there.
	published, applied *outcome
	failed             error                 // what cannot be fetched
	until              *projections.Position // how far a standby may fold now
	promoted           *order                // a standby becomes the owner
	stop               stopKind
}

type fetched struct {
	records []*kgo.Record
	batches []byte // instead of records: batches that are not decoded yet
	next    int64  // the offset after what came
	end     int64  // the log's end when they were fetched
}

type outcome struct{ err error }

// stopKind says how a partition is to end.
type stopKind uint8

const (
	stopNone  stopKind = iota
	stopClean          // publish, store and commit what was folded
	stopAbort          // drop what was not acknowledged: the partition may be someone else's already
)

// recordOverhead is what a fetched record takes beside its key and value, in bytes.
const recordOverhead = 200

func recordBytes(r *kgo.Record) int64 {
	return int64(len(r.Key)) + int64(len(r.Value)) + recordOverhead
}

func newInbox(max int64, total *atomic.Int64, setFlow func(in events.Input, paused bool)) *inbox {
	return &inbox{wake: make(chan struct{}, 1), max: max, total: total, setFlow: setFlow}
}

// change does f under the lock and wakes the goroutine.
func (b *inbox) change(f func()) {
	b.mu.Lock()
	if !b.closed {
		f()
	}
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// fetch delivers records of one input. It never blocks; an input that holds too much is paused.
func (b *inbox) fetch(in events.Input, records []*kgo.Record, end int64) {
	var n int64
	for _, r := range records {
		n += recordBytes(r)
	}
	var next int64
	if len(records) > 0 {
		next = records[len(records)-1].Offset + 1
	}
	b.deliver(in, fetched{records: records, next: next, end: end}, n)
}

// fetchBatches is fetch for batches that are not decoded yet, which end before offset next.
func (b *inbox) fetchBatches(in events.Input, batches []byte, next, end int64) {
	b.deliver(in, fetched{batches: batches, next: next, end: end}, int64(len(batches)))
}

func (b *inbox) deliver(in events.Input, f fetched, n int64) {
	b.change(func() {
		if !b.begun {
			return
		}
		b.news.fetched[in] = append(b.news.fetched[in], f)
		b.next[in] = max(b.next[in], f.next)
		b.bytes[in] += n
		b.total.Add(n)
		if b.bytes[in] >= b.max && !b.paused[in] {
			b.paused[in] = true
			b.setFlow(in, true)
		}
	})
}

// consumed says that so many bytes of each input were folded. Inputs that have room again are resumed.
func (b *inbox) consumed(n [events.NumInputs]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	for i := range n {
		b.bytes[i] -= n[i]
		b.total.Add(-n[i])
		if b.paused[i] && !b.held && b.bytes[i] < b.max/2 {
			b.paused[i] = false
			b.setFlow(events.Input(i), false)
		}
	}
}

// hold pauses all inputs, or resumes those that have room.
func (b *inbox) hold(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = on
	for i := range b.paused {
		if paused := on || b.bytes[i] >= b.max/2; !b.closed && paused != b.paused[i] {
			b.paused[i] = paused
			b.setFlow(events.Input(i), paused)
		}
	}
}

// setMax changes the bytes at which an input is paused, when the number of partitions changes.
func (b *inbox) setMax(max int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.max = max
}

// queued is how many bytes wait to be folded.
func (b *inbox) queued() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	var n int64
	for _, v := range b.bytes {
		n += v
	}
	return n
}

// expect says from where on records will come.
func (b *inbox) expect(from projections.Position) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next, b.begun = from, true
}

// expected is what is to be fetched next.
func (b *inbox) expected() projections.Position {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next
}

// fail says that the partition cannot be fetched any more.
func (b *inbox) fail(err error) {
	b.change(func() { b.news.failed = err })
}

func (b *inbox) publishDone(err error) {
	b.change(func() { b.news.published = &outcome{err} })
}

func (b *inbox) applyDone(err error) {
	b.change(func() { b.news.applied = &outcome{err} })
}

// stop asks for the end. An abort overrides a clean stop, never the other way round.
func (b *inbox) stop(k stopKind) {
	b.change(func() { b.news.stop = max(b.news.stop, k) })
}

// allow says how far a standby may fold.
func (b *inbox) allow(until projections.Position) {
	b.change(func() { b.news.until = &until })
}

// promote makes a standby the owner.
func (b *inbox) promote(o order) {
	b.change(func() { b.news.promoted = &o })
}

// reroute changes who fetches: what is paused is paused there, too.
func (b *inbox) reroute(setFlow func(in events.Input, paused bool)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.setFlow = setFlow
	for i, paused := range b.paused {
		if paused {
			setFlow(events.Input(i), true)
		}
	}
}

// peek tells what ends a worker that has not begun, and leaves all that is new where it is: the order to begin and the
// first records come by different ways, and either may be seen first.
func (b *inbox) peek() (stop stopKind, failed error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.news.stop, b.news.failed
}

// take hands over what is new. The order to stop stays.
func (b *inbox) take() news {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.news
	b.news = news{stop: n.stop}
	return n
}

// close makes the inbox refuse everything from now on and pauses its inputs: what nobody folds is not fetched.
func (b *inbox) close(pause bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.closed = true
	b.news = news{}
	for i := range b.paused {
		b.total.Add(-b.bytes[i])
		b.bytes[i] = 0
		if pause && !b.paused[i] {
			b.paused[i] = true
			b.setFlow(events.Input(i), true)
		}
	}
}
