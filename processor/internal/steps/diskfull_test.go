package steps

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/home"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/projections"
)

// TestFullDiskStopsFoldingOnly: folded changes are published and committed, nothing more is folded,
// the partition stays live, and it continues by itself.
func TestFullDiskStopsFoldingOnly(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	paused := map[events.Input]bool{}
	s.w.Inbox.SetFlow = func(in events.Input, on bool) { paused[in] = on }
	s.add(events.Reads, 3)
	s.step()
	s.fold.full = errors.New("no room")
	s.add(events.Reads, 5)
	s.pass(2 * time.Second)
	s.ack()
	s.step()
	if s.fold.position != (projections.Position{0, 3}) || s.fold.cuts != 0 {
		t.Errorf("folded up to %v with %d cuts on a full disk", s.fold.position, s.fold.cuts)
	}
	if want := []projections.Position{{0, 3}}; !reflect.DeepEqual(s.acked, want) {
		t.Errorf("committed %v, want %v", s.acked, want)
	}
	if st := s.w.Status(); st.State != life.Live || st.Full == nil || !strings.Contains(st.String(), "no room") || s.w.Live.Load() == nil {
		t.Errorf("status %v", st)
	}
	if len(paused) != 3 || !paused[events.Messages] || !paused[events.Reads] || !paused[events.Deliveries] {
		t.Errorf("paused are %v, want all inputs", paused)
	}
	if sleep, _ := s.w.safeStep(); sleep > home.SpaceEvery {
		t.Errorf("looks for room again after %v", sleep)
	}
	s.fold.full = nil
	s.step()
	if s.fold.position != (projections.Position{0, 8}) || s.w.Status().Full != nil || paused[events.Messages] {
		t.Errorf("with room again it is at %v, %v, paused %v", s.fold.position, s.w.Status(), paused)
	}
}

// TestStopOnAFullDisk: folded changes are published, and the stop does not wait for the store.
func TestStopOnAFullDisk(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	s.add(events.Reads, 3)
	s.step()
	s.fold.full = errors.New("no room")
	s.w.Inbox.Stop(inbox.StopClean)
	if s.step() {
		t.Fatal("it ends before its set is acknowledged")
	}
	s.ack()
	if !s.step() || !s.w.Home.Space.GaveUp() || len(s.acked) != 1 {
		t.Errorf("it does not end; committed %v", s.acked)
	}
}
