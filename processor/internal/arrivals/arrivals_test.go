package arrivals

import (
	"slices"
	"testing"

	"github.com/tidemark/tidemark/internal/watch"
)

func signalled(a watch.Arrivals) bool {
	select {
	case _, open := <-a.Signal():
		return open
	default:
		return false
	}
}

func TestArrivalsAreOfTheirUserAndCoalesce(t *testing.T) {
	var r Registry
	if r.Note([]byte("u"), 1); r.Any() {
		t.Error("somebody watches")
	}
	u, again, other := r.Begin("u"), r.Begin("u"), r.Begin("o")
	for _, p := range []int32{7, 3, 7} {
		r.Note([]byte("u"), p)
	}
	for _, a := range []*Arrivals{u, again} {
		if !signalled(a) || signalled(a) {
			t.Error("three changes make not one signal")
		}
		if got := a.Partitions(); !slices.Equal(got, []int32{3, 7}) {
			t.Errorf("got %v, want 3 and 7", got)
		}
		if got := a.Partitions(); len(got) > 0 {
			t.Errorf("again %v", got)
		}
	}
	if signalled(other) || len(other.Partitions()) > 0 {
		t.Error("another user is told")
	}
}

func TestWhatIsFollowedDoesNotArrive(t *testing.T) {
	var r Registry
	a := r.Begin("u")
	r.Note([]byte("u"), 3)
	r.Note([]byte("u"), 4)
	a.Follow(3)
	r.Note([]byte("u"), 3)
	if got := a.Partitions(); !slices.Equal(got, []int32{4}) {
		t.Errorf("got %v, want 4 alone", got)
	}
	a.Stop()
	a.Stop()
	if r.Note([]byte("u"), 5); len(a.Partitions()) > 0 || r.Any() {
		t.Error("it is stopped and goes on")
	}
}

func TestAPartitionThatEndsEndsAll(t *testing.T) {
	var r Registry
	a, b := r.Begin("u"), r.Begin("o")
	r.End()
	for _, x := range []*Arrivals{a, b} {
		if _, open := <-x.Signal(); open {
			t.Error("the signal is not closed")
		}
		x.Stop()
	}
	c := r.Begin("u") // a watch that begins now continues, too
	r.Note([]byte("u"), 1)
	if !r.Any() || !signalled(c) {
		t.Error("a watch that begins after that gets no change")
	}
}
