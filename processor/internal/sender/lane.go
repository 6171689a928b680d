package sender

import (
	"slices"
	"sync"
	"time"

	"github.com/tidemark/tidemark/processor/internal/batches"
)

// topic is a topic to which records were sent. Its fields belong to the sender's mu.
type topic struct {
	name  string
	id    [16]byte
	lanes []*lane // by partition
	limit int     // of a batch, in bytes
}

func (t *topic) lane(partition int32) *lane {
	for int(partition) >= len(t.lanes) {
		t.lanes = append(t.lanes, &lane{topic: t, partition: int32(len(t.lanes)), limit: t.limit, leader: -1})
	}
	return t.lanes[partition]
}

// topic returns the topic of a name. The caller holds mu.
func (s *Sender) topic(name string) *topic {
	t := s.topics[name]
	if t == nil {
		t = &topic{name: name, limit: s.cfg.BatchBytes}
		s.topics[name] = t
	}
	return t
}

// lane is a partition.
type lane struct {
	topic     *topic
	partition int32

	mu    sync.Mutex
	queue []*batch // the oldest first; only the last may take more records
	limit int      // of a batch, in bytes
	last  int      // size of the last batch that was added to, a guess at that of the next one

	// The fields below belong to the goroutine that has the lane, and to the sender's mu otherwise.

	busy     bool // in a link, in a flight or among the lost
	leader   int32
	sequence int32     // of the next batch, or of the one on its way
	tries    int       // how often the first batch has failed in a row
	unsure   bool      // a failed try may have written the first batch
	due      time.Time // of the next try

	flight   *flight // the last one that had the lane
	answered bool    // its answer has a code for the partition
	code     int16
	settled  bool // it has dealt with the lane
}

// batch is a batch and those who wait for its outcome.
type batch struct {
	batches.Batch
	promises []Promise
	sealed   bool // it takes no more records
}

// link is a broker.
type link struct {
	broker  int32
	ready   []*lane
	flights int
	waits   bool      // one of the flights waits for the time of its request
	last    time.Time // when the last request began
}

// add adds the record at a place and the ones that follow it to a batch, and returns the place of
// the first one that did not fit, or -1.
func (s *Sender) add(l *lane, records Records, w *sorting, at int32, now int64, p Promise) int32 {
	at, count, size := l.add(s, records, w, at, now, p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records += int64(count)
	s.bytes += int64(size)
	return at
}

func (l *lane) add(s *Sender, records Records, w *sorting, at int32, now int64, p Promise) (_ int32, count, size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b *batch
	if n := len(l.queue); n > 0 {
		b = l.queue[n-1]
	}
	r := &w.one
	records.Read(at, r)
	if b == nil || b.sealed || !b.Fits(r, l.limit) {
		b = s.newBatch()
		b.Grow(l.last)
		l.queue = append(l.queue, b)
	}
	if !slices.Contains(b.promises, p) {
		p.Expect()
		b.promises = append(b.promises, p)
	}
	was := b.Size()
	for {
		b.Append(r, now)
		count++
		if at = w.next[at%group]; at < 0 {
			break
		}
		if records.Read(at, r); !b.Fits(r, l.limit) {
			break
		}
	}
	l.last = b.Size()
	return at, count, b.Size() - was
}

func (s *Sender) newBatch() *batch {
	b, ok := s.spare.Get().(*batch)
	if !ok {
		b = new(batch)
	}
	return b
}

// seal ends the first batch of the lane and returns it.
func (l *lane) seal() *batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue[0].sealed = true
	return l.queue[0]
}

// pop removes the first batch, and returns nil if there is none.
func (l *lane) pop() *batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return nil
	}
	b := l.queue[0]
	l.queue = slices.Delete(l.queue, 0, 1)
	return b
}

func (l *lane) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) == 0
}

// reuse keeps the memory of a batch.
func (s *Sender) reuse(b *batch) {
	b.Reset()
	clear(b.promises)
	b.promises, b.sealed = b.promises[:0], false
	s.spare.Put(b)
}
