package steps

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/projections"
)

// TestFailureThatDoesNotPass: where only a person can help nothing is tried again.
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
