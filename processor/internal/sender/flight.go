package sender

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/guard"
)

// requestBytes limits the batches of a request before they are compressed; a broker refuses
// requests of more than 100 MiB.
const requestBytes = 32 << 20

// startFlight starts a flight to a broker.
func (s *Sender) startFlight(k *link) {
	f := &flight{s: s, to: k}
	guard.Go("sending record batches", f.crashed, f.run)
}

// flight sends requests to a broker, one after the other, while there are batches for it.
type flight struct {
	s       *Sender
	to      *link
	lanes   []*lane
	batches []*batch // of the lanes
	request kmsg.ProduceRequest
}

func (f *flight) run() {
	for more := true; more; more = f.again() {
		f.wait()
		if !f.take() {
			continue
		}
		if answer, err := f.send(); err == nil {
			f.read(answer)
		} else {
			for i, l := range f.lanes {
				f.s.land(l, f.batches[i], err, 0)
			}
		}
	}
}

// wait waits until the next request to the broker may begin. Until then more records come, which
// share it: a request costs the broker and this process much more than a batch in it.
func (f *flight) wait() {
	if wait := f.due(); wait > 0 {
		select {
		case <-time.After(wait):
		case <-f.s.ctx.Done():
		}
	}
}

func (f *flight) due() time.Duration {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	return f.s.cfg.Every - time.Since(f.to.last)
}

// again returns whether the flight sends another request. Otherwise it has ended: nothing is ready, or
// another flight waits already. again also starts the search for leaders that the request has lost.
func (f *flight) again() bool {
	s, k := f.s, f.to
	s.mu.Lock()
	defer s.mu.Unlock()
	more := k.claim()
	if !more {
		k.flights--
	}
	if s.failed == nil {
		s.launch()
	}
	return more
}

// crashed ends the flight after a panic: nobody knows what was written.
func (f *flight) crashed(e *guard.Error) {
	f.s.cfg.Log.Error("the sending of output records panicked; the producer is renewed", guard.Attrs(e)...)
	f.s.fail(errDisowned)
	for _, l := range f.lanes {
		if f.has(l) {
			f.s.finish(l, e)
		}
	}
}

// has reports whether the flight still has to deal with a lane.
func (f *flight) has(l *lane) bool {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	return l.flight == f && !l.settled
}

// take takes the lanes that are ready for the broker. It returns false if the Sender has dropped them.
func (f *flight) take() bool {
	s, k := f.s, f.to
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(f.lanes)
	clear(f.batches)
	f.lanes, f.batches = f.lanes[:0], f.batches[:0]
	size := 0
	for _, l := range k.ready {
		if size >= requestBytes {
			break
		}
		b := l.seal()
		size += b.Size()
		l.flight, l.settled, l.answered = f, false, false
		f.lanes, f.batches = append(f.lanes, l), append(f.batches, b)
	}
	k.ready = slices.Delete(k.ready, 0, len(f.lanes))
	k.waits, k.last = false, time.Now()
	if s.failed == nil {
		s.launch() // for what does not fit into this request
	}
	return len(f.lanes) > 0
}

// send sends the first batch of each lane.
func (f *flight) send() (*kmsg.ProduceResponse, error) {
	f.request = kmsg.NewProduceRequest()
	f.request.Acks, f.request.TimeoutMillis = -1, f.s.timeout
	for i, l := range f.lanes {
		b := f.batches[i]
		p := kmsg.NewProduceRequestTopicPartition()
		if p.Partition, p.Records = l.partition, b.Sealed(); p.Records == nil {
			p.Records = b.Seal(f.s.cfg.Producer, l.sequence, f.s.cfg.Compressor)
		}
		t := f.of(l.topic)
		t.Partitions = append(t.Partitions, p)
	}
	answer, err := f.s.cfg.Client.Broker(int(f.to.broker)).Request(f.s.ctx, &f.request)
	if err != nil {
		return nil, err
	}
	response, ok := answer.(*kmsg.ProduceResponse)
	if !ok {
		return nil, fmt.Errorf("broker %d answers a produce request with %T", f.to.broker, answer)
	}
	return response, nil
}

// of returns the part of the request for a topic.
func (f *flight) of(topic *topic) *kmsg.ProduceRequestTopic {
	for i := range f.request.Topics {
		if f.request.Topics[i].Topic == topic.name {
			return &f.request.Topics[i]
		}
	}
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID = topic.name, f.s.idOf(topic)
	f.request.Topics = append(f.request.Topics, t)
	return &f.request.Topics[len(f.request.Topics)-1]
}

func (s *Sender) idOf(t *topic) [16]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.id
}

// read reads an answer.
func (f *flight) read(answer *kmsg.ProduceResponse) {
	f.assign(answer)
	for i, l := range f.lanes {
		if !l.answered {
			f.s.land(l, f.batches[i], fmt.Errorf("broker %d does not answer for %s/%d", f.to.broker, l.topic.name, l.partition), 0)
			continue
		}
		f.s.land(l, f.batches[i], nil, l.code)
	}
}

// assign stores the codes of an answer in the lanes of the flight.
func (f *flight) assign(answer *kmsg.ProduceResponse) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	for i := range answer.Topics {
		t := &answer.Topics[i]
		of := f.s.topics[t.Topic]
		for j := range f.request.Topics { // since version 13 an answer has the id only
			if asked := &f.request.Topics[j]; f.request.Version >= 13 && asked.TopicID == t.TopicID {
				of = f.s.topics[asked.Topic]
			}
		}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			if of == nil || p.Partition < 0 || int(p.Partition) >= len(of.lanes) {
				continue
			}
			if l := of.lanes[p.Partition]; l.flight == f {
				l.answered, l.code = true, p.ErrorCode
			}
		}
	}
}
