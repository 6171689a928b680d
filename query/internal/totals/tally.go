package totals

import (
	"maps"

	"github.com/tidemark/tidemark/internal/badge"
	"github.com/tidemark/tidemark/query/queryv1"
)

// Tally is the Sums over all channels, and over those that have a label, for each label.
type Tally struct {
	All    Sums
	labels map[string]Sums
}

// AddChannel counts one channel under its labels; times is 1, or -1 to remove it.
func (t *Tally) AddChannel(p badge.Part, labels []string, times int64) {
	t.All.AddChannel(p, times)
	t.each(labels, func(s *Sums) { s.AddChannel(p, times) })
}

// AddThread is AddChannel for a listed thread; the labels are its channel's.
func (t *Tally) AddThread(p badge.Part, labels []string, times int64) {
	t.All.AddThread(p, times)
	t.each(labels, func(s *Sums) { s.AddThread(p, times) })
}

// AddTotals adds the totals of another owner's answer.
func (t *Tally) AddTotals(all *queryv1.Totals, byLabel map[string]*queryv1.Totals) {
	t.All.AddTotals(all)
	for label, m := range byLabel {
		t.each([]string{label}, func(s *Sums) { s.AddTotals(m) })
	}
}

func (t *Tally) each(labels []string, add func(*Sums)) {
	if len(labels) > 0 && t.labels == nil {
		t.labels = map[string]Sums{}
	}
	for _, label := range labels {
		s := t.labels[label]
		add(&s)
		t.labels[label] = s
	}
}

// ByLabel returns the totals of all labels, or nil if there are none.
func (t *Tally) ByLabel() map[string]*queryv1.Totals {
	if len(t.labels) == 0 {
		return nil
	}
	out := make(map[string]*queryv1.Totals, len(t.labels))
	for label, s := range t.labels {
		out[label] = s.Totals()
	}
	return out
}

// Of returns the totals of some labels, with zeros for a label that no channel has; nil for none.
func (t *Tally) Of(labels []string) map[string]*queryv1.Totals {
	if len(labels) == 0 {
		return nil
	}
	out := make(map[string]*queryv1.Totals, len(labels))
	for _, label := range labels {
		s := t.labels[label]
		out[label] = s.Totals()
	}
	return out
}

// Copy returns a copy that later additions do not change.
func (t *Tally) Copy() Tally { return Tally{All: t.All, labels: maps.Clone(t.labels)} }
