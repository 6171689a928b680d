// Package watchtest has the contract of watch.Watcher as a test. Each implementation runs it: the
// processor's, and the fakes of tests.
package watchtest

import (
	"slices"
	"testing"

	"github.com/tidemark/tidemark/internal/watch"
)

// Watched is a watcher, with functions that change what its user sees and end its partition.
type Watched struct {
	watch.Watcher
	Change func(channelID string) // what the user sees of this channel changes
	End    func()                 // the partition stops being live
}

// Check runs the contract. begin returns a new watcher for which nothing has changed yet.
func Check(t *testing.T, begin func(t *testing.T) Watched) {
	t.Helper()
	signalled := func(w Watched) bool {
		select {
		case _, open := <-w.Signal():
			return open
		default:
			return false
		}
	}
	changed := func(w Watched) []string { return slices.Sorted(slices.Values(w.Changed())) }
	for _, c := range []struct {
		name string
		run  func(t *testing.T, w Watched)
	}{
		{"nothing has changed", func(t *testing.T, w Watched) {
			if signalled(w) || len(w.Changed()) > 0 {
				t.Error("a new watcher reports a change")
			}
		}},
		{"a slow reader gets each channel once", func(t *testing.T, w Watched) {
			for _, id := range []string{"a", "b", "a", "a"} {
				w.Change(id)
			}
			if !signalled(w) || signalled(w) {
				t.Error("four changes make not one signal")
			}
			if got := changed(w); !slices.Equal(got, []string{"a", "b"}) {
				t.Errorf("changed are %v, want a and b", got)
			}
			if got := w.Changed(); len(got) > 0 {
				t.Errorf("changed again are %v", got)
			}
		}},
		{"a change between the signal and the question is in the answer", func(t *testing.T, w Watched) {
			w.Change("a")
			signalled(w)
			w.Change("b")
			if got := changed(w); !slices.Equal(got, []string{"a", "b"}) {
				t.Errorf("changed are %v, want a and b", got)
			}
		}},
		{"a change after the question makes a signal", func(t *testing.T, w Watched) {
			w.Change("a")
			signalled(w)
			w.Changed()
			w.Change("a")
			if !signalled(w) || !slices.Equal(changed(w), []string{"a"}) {
				t.Error("the second change is lost")
			}
		}},
		{"the answer is the reader's", func(t *testing.T, w Watched) {
			w.Change("a")
			got := w.Changed()
			w.Change("b")
			if w.Changed(); !slices.Equal(got, []string{"a"}) {
				t.Errorf("it turns into %v", got)
			}
		}},
		{"a watcher may be stopped twice, and nothing reaches it then", func(t *testing.T, w Watched) {
			w.Stop()
			w.Stop()
			w.Change("a")
			if signalled(w) || len(w.Changed()) > 0 {
				t.Error("a stopped watcher reports a change")
			}
		}},
		{"the signal is closed at the end, and a watcher may be stopped after it", func(t *testing.T, w Watched) {
			w.End()
			if _, open := <-w.Signal(); open {
				t.Error("the signal is not closed")
			}
			w.Stop()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := begin(t)
			defer w.Stop()
			c.run(t, w)
		})
	}
}
