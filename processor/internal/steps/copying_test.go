package steps

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/projections"
)

// TestCompactHotLeavesABusyPartitionAlone: a partition that is behind, or whose disk is full, is not
// compacted. It is with the next CompactHot, even if a copy has all its tables by then.
func TestCompactHotLeavesABusyPartitionAlone(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	id := projections.Identity{ClusterID: "c", Partitions: 1, Settings: projections.DefaultSettings()}
	p, err := projections.Open("store", id, projections.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	for n := range int64(3) {
		m := events.Message{Kind: events.KindMembersJoined, ChannelID: fmt.Append(nil, n), IDs: [][]byte{[]byte("u")}}
		p.FoldMessage(&m, n, 1)
		p.Drain(&projections.Deltas{}, true)
		c, err := p.Cut()
		if err == nil {
			err = c.Apply()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.w.Live.Store(p)
	copied := false
	compactHot := func() projections.Compacted {
		t.Helper()
		did, err := s.w.CompactHot(t.Context(), func(string, uint64) bool { return copied })
		if err != nil {
			t.Fatal(err)
		}
		return did
	}
	s.w.ends[events.Reads].Store(1000)
	s.w.lastTime[events.Reads].Store(s.now.Add(-compactLag - time.Second).UnixMilli())
	if did := compactHot(); did.Done || did.Skipped != "the partition is 11 s behind" {
		t.Errorf("behind: %+v", did)
	}
	s.w.ends[events.Reads].Store(0)
	s.w.Home.Space.Note(errors.New("no room"))
	if did := compactHot(); did.Done || did.Skipped != "no room" {
		t.Errorf("without room: %+v", did)
	}
	s.w.Home.Space.Note(nil)
	copied = true
	ended, end := context.WithCancel(t.Context())
	end()
	if did, err := s.w.CompactHot(ended, nil); !errors.Is(err, context.Canceled) || did.Done {
		t.Errorf("ended before it began: %+v, %v", did, err)
	}
	if did := compactHot(); !did.Done || did.Skipped != "" {
		t.Errorf("with time for it: %+v", did)
	}
	copied = false
	if did := compactHot(); did.Done || did.Skipped != "" {
		t.Errorf("again: %+v", did)
	}
	s.w.Life.To(life.Stopping)
	if did, err := s.w.CompactHot(t.Context(), nil); !errors.Is(err, life.ErrNotOwner) || did.Done {
		t.Errorf("of a partition that is about to end: %+v, %v", did, err)
	}
	s.w.Live.Store(nil)
	if did, err := s.w.CompactHot(t.Context(), nil); !errors.Is(err, life.ErrNotOwner) || did.Done {
		t.Errorf("of a partition that is not live: %+v, %v", did, err)
	}
}

// TestAnEndingPartitionEndsItsCompactHot: the end of a partition ends a CompactHot that is in progress.
func TestAnEndingPartitionEndsItsCompactHot(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	ended := false
	end := context.CancelFunc(func() {
		if !s.w.Copying.TryLock() {
			t.Error("the store is locked before the CompactHot has ended")
		} else {
			s.w.Copying.Unlock()
		}
		ended = true
	})
	s.w.compacting.Store(&end)
	if err := s.w.closeStore(); err != nil && !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
	if !ended {
		t.Error("the CompactHot goes on")
	}
}
