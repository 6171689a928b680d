package steps

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/projections"
)

// TestFailureThatDoesNotPass: the processor does not try again if only a person can help.
func TestFailureThatDoesNotPass(t *testing.T) {
	mismatch := &projections.MismatchError{Dir: "d", Kind: projections.MismatchCluster, Detail: "x"}
	if failure.MayPass(failure.OfOpening(mismatch)) {
		t.Errorf("%v is tried again", mismatch)
	}
	if failure.MayPass(failure.OfPublishing(fmt.Errorf("t/0: %w", kerr.MessageTooLarge))) {
		t.Error("a record that is too large is tried again")
	}
	if _, err := opening.Decide(0, &events.InputTopics, projections.Position{9, 0, 0}, opening.History{}); err == nil || failure.MayPass(err) {
		t.Errorf("%v is tried again", err)
	}
}

func TestRetryAfter(t *testing.T) {
	for n, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second, 7: time.Minute, 99: time.Minute} {
		if got := retryAfter(n); got != want {
			t.Errorf("before try %d: %s, want %s", n, got, want)
		}
	}
}

// TestAStopIsOneLine: a partition that ends in an orderly way gets the reason repeatedly, and then
// its publication fails. The first reason is its failure and makes one log line. That it cannot end
// in an orderly way makes another one.
func TestAStopIsOneLine(t *testing.T) {
	var log bytes.Buffer
	s := newStage(t, opening.Plan{}, nil)
	s.w.log = slog.New(slog.NewTextHandler(&log, nil))
	s.add(events.Reads, 1)
	s.step() // in flight
	gone := errors.New("the topic is gone")
	for range 20 {
		s.w.Inbox.Fail(gone)
		s.step()
	}
	if got := strings.Count(log.String(), "\n"); got != 1 || !strings.Contains(log.String(), "partition stops") {
		t.Errorf("%d lines, want one that says that the partition stops:\n%s", got, log.String())
	}
	if s.w.stopping != inbox.StopClean {
		t.Errorf("stops in way %d, want %d: in order", s.w.stopping, inbox.StopClean)
	}
	for range 3 {
		s.w.Inbox.PublishDone(errors.New("no right to write"))
		s.w.Inbox.Fail(gone)
		if !s.step() {
			t.Fatal("what cannot end in order does not end")
		}
	}
	if got := strings.Count(log.String(), "\n"); got != 2 || strings.Count(log.String(), "no right to write") != 1 {
		t.Errorf("%d lines, want one of the stop and one of the publication:\n%s", got, log.String())
	}
	if err := s.w.Failed(); !errors.Is(err, gone) {
		t.Errorf("failed with %v, want the first error", err)
	}
}
