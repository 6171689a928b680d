package totals

import (
	"github.com/tidemark/tidemark/query/queryv1"
)

// Sources holds the last totals from each source of a merged watch.
type Sources []source

type source struct {
	all     *queryv1.Totals
	byLabel map[string]*queryv1.Totals
}

// NewSources returns n sources without totals.
func NewSources(n int) Sources { return make(Sources, n) }

// Snapshot sets the totals from a source's snapshot.
func (s Sources) Snapshot(i int, m *queryv1.WatchSnapshot) {
	s[i] = source{m.Totals, m.TotalsByLabel}
}

// Update sets the totals from an update, and returns the changed sums over all sources.
func (s Sources) Update(i int, m *queryv1.WatchUpdate) (*queryv1.Totals, map[string]*queryv1.Totals) {
	of := &s[i]
	of.all = m.Totals
	labels := make([]string, 0, len(m.TotalsByLabel))
	for label, t := range m.TotalsByLabel {
		if of.byLabel == nil {
			of.byLabel = map[string]*queryv1.Totals{}
		}
		of.byLabel[label] = t
		labels = append(labels, label)
	}
	var all Tally
	for i := range s {
		byLabel := make(map[string]*queryv1.Totals, len(labels))
		for _, label := range labels {
			if t := s[i].byLabel[label]; t != nil {
				byLabel[label] = t
			}
		}
		all.AddTotals(s[i].all, byLabel)
	}
	return all.All.Totals(), all.Of(labels)
}
