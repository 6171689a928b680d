package processor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
)

// topicsChanged says in words how the topics differ from what they were when the processor started; nil if they do not.
func topicsChanged(was, is *identity) error {
	if *was == *is {
		return nil
	}
	if was.partitions != is.partitions {
		return fmt.Errorf("the topics had %d partitions when this process started and have %d now: keys have moved between "+
			"partitions and counts would be wrong; reshard into new topics with the new partition count", was.partitions, is.partitions)
	}
	for i := range was.topics {
		if was.topics[i].ID != is.topics[i].ID {
			return fmt.Errorf("topic %s was deleted and created again: its offsets mean other records; if the new topic is the "+
				"truth, stop, remove the stores and the group's offsets, and start anew", was.topics[i].Name)
		}
	}
	return fmt.Errorf("the brokers belong to cluster %s, not to %s as when this process started", is.id, was.id)
}

// topicsEvery is how often the topics are looked at while all goes well. Partitions that are added to one topic alone
// are assigned to nobody, and those added to all only to one member: keys have moved for the others as well.
const topicsEvery = 5 * time.Second

// watchTopics stops every partition when the topics are not what they were any more, as two looks in a row find: a broker
// may be behind the others with what it says.
func (p *Processor) watchTopics(ctx context.Context) {
	tick := time.NewTicker(topicsEvery)
	defer tick.Stop()
	for seen := 0; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		is, err := p.lookUp(ctx)
		var wrong *topicsError
		switch {
		case err == nil:
			err = topicsChanged(p.cluster.Load(), is)
		case !errors.As(err, &wrong):
			continue // what cannot be asked or found now says nothing
		}
		if seen++; err == nil {
			seen = 0
		}
		if seen == 2 {
			for _, w := range p.owned() {
				w.inbox.fail(err)
			}
		}
	}
}

// survey is what the brokers say of the inputs.
type survey struct {
	wrong      error // the topics are not what the processor started with
	start, end [events.NumInputs]map[int32]kadm.ListedOffset
}

// surveyPatience is for how long a partition that has no leader is waited for before the others start without it.
const surveyPatience = 10 * time.Second

// survey asks until there is an answer for all partitions of ws, or until patience is at an end.
func (p *Processor) survey(ctx context.Context, ws []*worker) (*survey, error) {
	began := time.Now()
	for try := 0; ; try++ {
		s, err := p.surveyOnce(ctx)
		if err == nil {
			p.setGroupErr(nil)
			asked := time.Since(began)
			if s.wrong != nil && asked >= kafkaadmin.TopicsPatience || s.wrong == nil && (s.complete(ws) || asked >= surveyPatience) {
				return s, nil
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			p.setGroupErr(fmt.Errorf("the brokers do not say where the logs begin and end: %w", err))
			p.log.Warn("the brokers do not say where the logs begin and end yet", "err", err)
		}
		select {
		case <-time.After(min(time.Duration(try+1)*100*time.Millisecond, 2*time.Second)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (p *Processor) surveyOnce(ctx context.Context) (*survey, error) {
	s := &survey{}
	topics := p.cfg.Topics.Inputs[:]
	var starts, ends kadm.ListedOffsets
	var errs [3]error
	var all sync.WaitGroup
	all.Go(func() {
		is, err := p.lookUp(ctx)
		switch {
		case err == nil:
			s.wrong = topicsChanged(p.cluster.Load(), is)
		case isWrong(err):
			s.wrong = err
		default:
			errs[0] = err
		}
	})
	all.Go(func() { starts, errs[1] = p.admin.ListStartOffsets(ctx, topics...) })
	all.Go(func() { ends, errs[2] = p.admin.ListCommittedOffsets(ctx, topics...) })
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil && s.wrong == nil {
		return nil, err
	}
	for i, topic := range topics {
		s.start[i], s.end[i] = starts[topic], ends[topic]
	}
	return s, nil
}

// bounds are the first offset of a partition and its end, or why they are not known.
func (s *survey) bounds(input int, number int32) (start, end int64, err error) {
	first, ok := s.start[input][number]
	last, ok2 := s.end[input][number]
	if err := errors.Join(first.Err, last.Err); err != nil {
		return 0, 0, err
	}
	if !ok || !ok2 {
		return 0, 0, errors.New("the brokers left it out of their answer")
	}
	return first.Offset, last.Offset, nil
}

// complete reports whether the bounds of all partitions of ws are known.
func (s *survey) complete(ws []*worker) bool {
	for _, w := range ws {
		for i := range s.start {
			if _, _, err := s.bounds(i, w.number); err != nil {
				return false
			}
		}
	}
	return true
}
