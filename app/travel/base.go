package travel

import (
	"context"
	"fmt"
	"time"

	"github.com/tidemark/tidemark/snapshot"
)

// ReachError means that a moment is before the first one that the logs and the snapshots cover.
type ReachError struct {
	text string
}

func (e *ReachError) Error() string { return e.text }

// bases returns the snapshots that a fold to s can begin with, newest first. It may return none if
// the logs still have their first records.
func (g *Guide) bases(ctx context.Context, l *logs, m Moment, s *stand) ([]snapshot.Entry, error) {
	var list []snapshot.Entry
	if g.snapshots != nil {
		all, err := g.snapshots.List(ctx, s.partition)
		if err != nil {
			return nil, err
		}
		list = all
	}
	var use []snapshot.Entry
	var oldest time.Time // oldest moment that can be answered
	proven := false
	want := l.identity(s.partition)
	for i := range list {
		e := &list[i]
		if e.Err != nil || e.Fits(want) != nil {
			continue
		}
		v := e.Manifest.Position()
		if !v.Dominates(s.from) && v != s.at {
			continue // retention removed the records after it
		}
		if at := e.Manifest.WrittenAt; oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
		if !s.at.Dominates(v) {
			continue
		}
		use = append(use, *e)
		proven = proven || !m.Time.IsZero() && !e.Manifest.WrittenAt.After(m.Time)
	}
	if len(s.unsure) > 0 && !proven || s.trimmed() && len(use) == 0 {
		return nil, g.outOfReach(l, m, s, oldest)
	}
	return use, nil
}

// outOfReach returns an error that names the records that retention has removed and the oldest
// moment that can still be answered.
func (g *Guide) outOfReach(l *logs, m Moment, s *stand, oldest time.Time) error {
	topic, from := 0, int64(0)
	for i, at := range s.from {
		if at > 0 && (from == 0 || len(s.unsure) > 0 && i == s.unsure[0]) {
			topic, from = i, at
		}
	}
	text := fmt.Sprintf("retention no longer reaches %s: %s/%d begins at offset %d, and earlier records are gone", m, l.topics[topic], s.partition, from)
	switch {
	case g.snapshots == nil:
		text += "; there are no snapshots to begin with: name their place with --snapshots"
	case oldest.IsZero():
		text += fmt.Sprintf("; %s has no snapshot of partition %d whose next records are still in the logs", g.snapshots, s.partition)
	default:
		text += fmt.Sprintf("; ask for %s or later, the time of the oldest snapshot of partition %d whose next records are still in the logs", oldest.UTC().Format(time.RFC3339), s.partition)
	}
	return &ReachError{text + "; to reach further, raise --snapshot-keep or the topics' retention.ms"}
}
