package sender

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/guard"
)

// startSearch starts looking for leaders.
func (s *Sender) startSearch() {
	guard.Go("the search for leaders", s.seekCrashed, s.seekLeaders)
}

// seekLeaders finds the leaders of lost lanes, and ends when there are none.
func (s *Sender) seekLeaders() {
	for {
		due, more := s.nextDue()
		if !more {
			return
		}
		if wait := time.Until(due); wait > 0 {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-s.seek:
			case <-s.ctx.Done():
			}
			timer.Stop()
			continue
		}
		answer, err := s.ask()
		s.found(answer, err)
	}
}

func (s *Sender) seekCrashed(e *guard.Error) {
	s.cfg.Log.Error("the search for leaders of output partitions panicked; the producer is renewed", guard.Attrs(e)...)
	s.fail(errDisowned)
}

// nextDue returns when a lost lane is to be looked for. Without one the search ends.
func (s *Sender) nextDue() (due time.Time, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lost {
		if !more || l.due.Before(due) {
			due, more = l.due, true
		}
	}
	s.seeking = more
	return due, more
}

// ask asks for the leaders of all topics.
func (s *Sender) ask() (*kmsg.MetadataResponse, error) {
	ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
	defer cancel()
	answer, err := s.cfg.Client.Request(ctx, s.question())
	if err != nil {
		return nil, err
	}
	response, ok := answer.(*kmsg.MetadataResponse)
	if !ok {
		return nil, fmt.Errorf("a broker answers a request for metadata with %T", answer)
	}
	return response, nil
}

func (s *Sender) question() *kmsg.MetadataRequest {
	q := kmsg.NewPtrMetadataRequest()
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		q.Topics = append(q.Topics, t)
	}
	return q
}

// found notes leaders, and passes lanes to theirs. Lanes of topics that this producer must not
// write to fail.
func (s *Sender) found(answer *kmsg.MetadataResponse, err error) {
	refused, why := s.note(answer, err)
	for i, l := range refused {
		s.finish(l, why[i])
	}
	s.relaunch()
}

func (s *Sender) note(answer *kmsg.MetadataResponse, err error) (refused []*lane, why []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := map[*topic]error{}
	for i := 0; err == nil && i < len(answer.Topics); i++ {
		a := &answer.Topics[i]
		if a.Topic == nil || s.topics[*a.Topic] == nil {
			continue
		}
		t := s.topics[*a.Topic]
		t.id, errs[t] = a.TopicID, kerr.ErrorForCode(a.ErrorCode)
		for j := range a.Partitions {
			if p := &a.Partitions[j]; p.Partition >= 0 && int(p.Partition) < len(t.lanes) {
				if l := t.lanes[p.Partition]; !l.busy || l.leader < 0 {
					l.leader = p.Leader
				}
			}
		}
	}
	now, lost := time.Now(), s.lost
	s.lost = nil
	for _, l := range lost {
		denied := errs[l.topic]
		switch {
		case l.due.After(now):
			s.lost = append(s.lost, l)
		case denied != nil && !kerr.IsRetriable(denied) && !l.unsure:
			refused, why = append(refused, l), append(why, denied)
		case l.leader >= 0:
			s.enqueue(l)
		default:
			l.tries++
			l.due = now.Add(s.pause(l.tries))
			s.lost = append(s.lost, l)
			if l.tries%32 == 8 {
				s.cfg.Log.Warn("output records cannot be written yet: their partition has no leader",
					"topic", l.topic.name, "partition", l.partition, "err", errors.Join(err, denied))
			}
		}
	}
	return refused, why
}
