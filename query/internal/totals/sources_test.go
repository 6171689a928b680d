package totals

import (
	"testing"

	"github.com/tidemark/tidemark/query/queryv1"
)

// An update of one owner changes the sums over all by its difference.
func TestSources(t *testing.T) {
	s := NewSources(2)
	s.Snapshot(0, &queryv1.WatchSnapshot{Totals: &queryv1.Totals{Badge: 1}, TotalsByLabel: map[string]*queryv1.Totals{"a": {Badge: 1}}})
	s.Snapshot(1, &queryv1.WatchSnapshot{Totals: &queryv1.Totals{Badge: 10}, TotalsByLabel: map[string]*queryv1.Totals{"a": {Badge: 10}, "b": {Badge: 4}}})
	all, by := s.Update(0, &queryv1.WatchUpdate{Totals: &queryv1.Totals{Badge: 3}, TotalsByLabel: map[string]*queryv1.Totals{"a": {Badge: 2}}})
	if all.Badge != 13 || len(by) != 1 || by["a"].Badge != 12 {
		t.Errorf("%v, by label %v", all, by)
	}
	all, by = s.Update(0, &queryv1.WatchUpdate{Totals: &queryv1.Totals{Badge: 5}})
	if all.Badge != 15 || by != nil {
		t.Errorf("%v, by label %v", all, by)
	}
	if _, by = s.Update(0, &queryv1.WatchUpdate{TotalsByLabel: map[string]*queryv1.Totals{"a": {}, "c": {Badge: 7}}}); by["a"].Badge != 10 || by["c"].Badge != 7 {
		t.Errorf("by label %v", by)
	}
}
