package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
)

// topicsChanged explains how the topics have changed since the process started, or returns nil.
func topicsChanged(was, is *Cluster) error {
	if *was == *is {
		return nil
	}
	if was.Partitions != is.Partitions {
		return fmt.Errorf("the topics had %d partitions when this process started and have %d now: keys have moved between "+
			"partitions and counts would be wrong; reshard into new topics with the new partition count", was.Partitions, is.Partitions)
	}
	for i := range was.Topics {
		if was.Topics[i].ID != is.Topics[i].ID {
			return fmt.Errorf("topic %s was deleted and created again: its offsets mean other records; if the new topic is the "+
				"truth, stop, remove the stores and the group's offsets, and start anew", was.Topics[i].Name)
		}
	}
	return fmt.Errorf("the brokers belong to cluster %s, not to %s as when this process started", is.ID, was.ID)
}

// topicsEvery is how often the topics are checked. The group does not notice all changes: it
// assigns a partition that was added to one topic to no member. It assigns partitions that were
// added to all topics, although then keys have moved between all partitions.
const topicsEvery = 5 * time.Second

// WatchTopics calls changed when the topics differ from those at the start, until ctx is done. It
// checks twice before it reports a change, because one broker may lag behind the others.
func (r *Engine) WatchTopics(ctx context.Context, changed func(error)) {
	tick := time.NewTicker(topicsEvery)
	defer tick.Stop()
	for seen := 0; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		is, err := r.LookUp(ctx)
		var wrong *topicsError
		switch {
		case err == nil:
			err = topicsChanged(r.Cluster.Load(), is)
		case !errors.As(err, &wrong):
			continue // a failed request proves nothing
		}
		if seen++; err == nil {
			seen = 0
		}
		if seen == 2 {
			changed(err)
		}
	}
}

// Survey is the brokers' answer about the inputs.
type Survey struct {
	Wrong      error // the topics are not those with which the processor started
	start, end [events.NumInputs]map[int32]kadm.ListedOffset
}

// SurveyPatience is how long Survey waits for a partition without a leader before it returns the
// answers for the others.
const SurveyPatience = 10 * time.Second

// Survey repeats the requests until the brokers have answered for all of the partitions, or until
// SurveyPatience is over.
func (r *Engine) Survey(ctx context.Context, partitions []int32) (*Survey, error) {
	began := time.Now()
	for try := 0; ; try++ {
		s, err := r.SurveyOnce(ctx)
		if err == nil {
			r.SetGroupErr(nil)
			asked := time.Since(began)
			if s.Wrong != nil && asked >= kafkaadmin.TopicsPatience || s.Wrong == nil && (s.complete(partitions) || asked >= SurveyPatience) {
				return s, nil
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			r.SetGroupErr(fmt.Errorf("the start and end of the topics' logs are not known: %w", err))
			r.Log.Warn("the start and end of the topics' logs are not known yet", "err", err)
		}
		select {
		case <-time.After(min(time.Duration(try+1)*100*time.Millisecond, 2*time.Second)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// SurveyOnce sends the requests once.
func (r *Engine) SurveyOnce(ctx context.Context) (*Survey, error) {
	s := &Survey{}
	topics := r.Config.Topics.Inputs[:]
	var starts, ends kadm.ListedOffsets
	var errs [3]error
	var all sync.WaitGroup
	ask := func(i int, f func() error) {
		all.Go(func() { errs[i] = guard.Err("asking about the topics", f) })
	}
	ask(0, func() error {
		is, err := r.LookUp(ctx)
		switch {
		case err == nil:
			s.Wrong = topicsChanged(r.Cluster.Load(), is)
		case isWrong(err):
			s.Wrong = err
		default:
			return err
		}
		return nil
	})
	ask(1, func() (err error) { starts, err = r.Admin.ListStartOffsets(ctx, topics...); return err })
	ask(2, func() (err error) { ends, err = r.Admin.ListCommittedOffsets(ctx, topics...); return err })
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil && s.Wrong == nil {
		return nil, err
	}
	for i, topic := range topics {
		s.start[i], s.end[i] = starts[topic], ends[topic]
	}
	return s, nil
}

// Bounds returns the first offset of a partition and its end, or why they are unknown.
func (s *Survey) Bounds(input int, number int32) (start, end int64, err error) {
	first, ok := s.start[input][number]
	last, ok2 := s.end[input][number]
	if err := errors.Join(first.Err, last.Err); err != nil {
		return 0, 0, err
	}
	if !ok || !ok2 {
		return 0, 0, errors.New("the brokers' answer does not have it")
	}
	return first.Offset, last.Offset, nil
}

// complete reports whether the bounds of all of the partitions are known.
func (s *Survey) complete(partitions []int32) bool {
	for _, n := range partitions {
		for i := range s.start {
			if _, _, err := s.Bounds(i, n); err != nil {
				return false
			}
		}
	}
	return true
}
