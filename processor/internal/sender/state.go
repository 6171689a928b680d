package sender

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// errDisowned fails all records after a batch whose sequence number may be in use or free.
var errDisowned = fmt.Errorf("the fate of an earlier batch is not known: %w", kerr.OutOfOrderSequenceNumber)

// longestPause is how long a batch waits at most before it is sent again.
const longestPause = time.Second

// fail ends the sending with an error for all records that are not on their way. What is on its way
// gets its own outcome.
func (s *Sender) fail(err error) {
	s.drop(s.end(err), err)
}

// end returns the lanes whose records nobody will send.
func (s *Sender) end(err error) (idle []*lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return nil
	}
	s.failed = err
	idle, s.lost = s.lost, nil
	for _, k := range s.links {
		idle = append(idle, k.ready...)
		k.ready = nil
	}
	for _, l := range idle {
		l.busy = false
	}
	s.room.Broadcast()
	s.wake()
	return idle
}

// drop settles all records of lanes with an error.
func (s *Sender) drop(lanes []*lane, err error) {
	for _, l := range lanes {
		for b := l.pop(); b != nil; b = l.pop() {
			s.settle(l, b, err)
		}
	}
}

// settle reports the outcome of a batch that is no longer in its lane.
func (s *Sender) settle(l *lane, b *batch, err error) {
	for _, p := range b.promises {
		p.Settled(l.topic.name, l.partition, err)
	}
	s.leave(int64(b.Len()), int64(b.Records()))
	if err == nil { // otherwise the client may not be done with its bytes
		s.reuse(b)
	}
}

// leave notes that records have their outcome.
func (s *Sender) leave(records, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records -= records
	s.bytes -= bytes
	s.room.Broadcast()
}

// begin sends the batches of lanes that nobody sends yet.
func (s *Sender) begin(lanes []*lane) {
	s.drop(s.schedule(lanes))
}

// schedule returns lanes whose records nobody will send, and why.
func (s *Sender) schedule(lanes []*lane) (idle []*lane, failed error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range lanes {
		switch {
		case l.busy || l.empty():
		case s.failed != nil:
			idle = append(idle, l)
		default:
			l.busy = true
			s.enqueue(l)
		}
	}
	if s.failed == nil {
		s.launch()
	}
	return idle, s.failed
}

// enqueue passes a busy lane to its leader. The caller holds mu.
func (s *Sender) enqueue(l *lane) {
	if l.leader < 0 {
		s.lost = append(s.lost, l)
		return
	}
	k := s.links[l.leader]
	if k == nil {
		k = &link{broker: l.leader}
		s.links[l.leader] = k
	}
	k.ready = append(k.ready, l)
}

// launch starts flights for lanes that are ready, and the search for lost ones. The caller holds mu.
func (s *Sender) launch() {
	if len(s.lost) > 0 {
		if s.seeking {
			s.wake()
		} else {
			s.seeking = true
			s.search()
		}
	}
	for _, k := range s.links {
		if k.flights < requests && k.claim() {
			k.flights++
			s.fly(k)
		}
	}
}

// claim reserves the next request for a flight. It returns false if nothing is ready, or another flight
// waits already. The caller holds the sender's mu.
func (k *link) claim() bool {
	if len(k.ready) == 0 || k.waits {
		return false
	}
	k.waits = true
	return true
}

func (s *Sender) relaunch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.launch()
	}
}

// wake makes seekLeaders look at the lost lanes. The caller holds mu.
func (s *Sender) wake() {
	select {
	case s.seek <- struct{}{}:
	default:
	}
}

// finish settles the first batch of a lane.
func (s *Sender) finish(l *lane, err error) {
	l.settled, l.tries, l.unsure = true, 0, false
	if b := l.pop(); b != nil {
		s.settle(l, b, err)
	}
	s.resume(l)
}

// resume goes on with the next batch of a lane.
func (s *Sender) resume(l *lane) {
	if failed := s.next(l); failed != nil {
		s.drop([]*lane{l}, failed)
	}
}

func (s *Sender) next(l *lane) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.busy = s.failed == nil && !l.empty(); l.busy {
		s.enqueue(l)
	}
	return s.failed
}

// repeat sends the first batch of a lane again, with the same number, once its leader is found.
func (s *Sender) repeat(l *lane, why error) {
	l.unsure, l.settled = true, true
	l.tries++
	if l.tries%32 == 8 {
		s.cfg.Log.Warn("output records cannot be written yet; they are sent again and again",
			"topic", l.topic.name, "partition", l.partition, "tries", l.tries, "err", why)
	}
	if failed := s.lose(l); failed != nil {
		s.finish(l, failed)
	}
}

// lose makes a lane wait for its leader. It returns an error if nothing is sent any more.
func (s *Sender) lose(l *lane) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	l.leader, l.due = -1, time.Now().Add(s.pause(l.tries))
	s.enqueue(l)
	return nil
}

// pause returns how long a batch waits before it is sent again: not at all after the first failure,
// because its leader may have moved.
func (s *Sender) pause(tries int) time.Duration {
	if tries < 2 {
		return 0
	}
	return min(s.backoff(tries-1), longestPause)
}

// split replaces the first batch with its halves. Later batches of the partition are as short.
func (s *Sender) split(l *lane) {
	s.leave(0, l.halve(s))
}

// halve returns by how many bytes the halves are shorter.
func (l *lane) halve(s *Sender) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, one, other := l.queue[0], s.newBatch(), s.newBatch()
	l.limit = max(b.Size()/2, 1024)
	b.Split(&one.Batch, &other.Batch)
	one.sealed, other.sealed = true, true
	for _, p := range b.promises {
		p.Expect()
		one.promises, other.promises = append(one.promises, p), append(other.promises, p)
	}
	l.queue = slices.Replace(l.queue, 0, 1, one, other)
	return int64(b.Records() - one.Records() - other.Records())
}

// written calls the hooks of the client's options, which count what is produced.
func (s *Sender) written(l *lane, b *batch, broker int32) {
	for _, h := range s.hooks {
		h.OnProduceBatchWritten(kgo.BrokerMetadata{NodeID: broker}, l.topic.name, l.partition, kgo.ProduceBatchMetrics{
			NumRecords: int(b.Len()), UncompressedBytes: b.Records(), CompressedBytes: b.Compressed(), CompressionType: b.Codec(),
		})
	}
}
