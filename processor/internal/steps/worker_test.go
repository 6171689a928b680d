package steps

import (
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

func TestOneEventIsPublishedAtOnce(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	s.add(events.Messages, 1)
	s.step()
	if len(s.sent) != 1 || len(s.sent[0]) != 1 {
		t.Fatalf("published %d sets, want one record at once", len(s.sent))
	}
	if len(s.acked) != 0 {
		t.Fatal("something may be committed before it was acknowledged")
	}
	s.ack()
	s.step()
	if want := []projections.Position{{1}}; !reflect.DeepEqual(s.acked, want) {
		t.Errorf("acknowledged up to %v, want %v", s.acked, want)
	}
}

func TestWhileOneSetIsInFlightTheNextFolds(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	s.add(events.Reads, 1)
	s.step()
	s.add(events.Reads, 500)
	s.step()
	if n := len(s.fold.folded); n != 501 {
		t.Errorf("%d events are folded while a set is in flight, want all 501", n)
	}
	if len(s.sent) != 1 {
		t.Fatalf("%d sets are in flight, want one at a time", len(s.sent))
	}
	s.ack()
	s.pass(fanoutRest)
	s.step()
	if len(s.sent) != 2 || len(s.sent[1]) != 500 {
		t.Fatalf("after the acknowledgement %d sets were published, want what changed meanwhile in one", len(s.sent))
	}
}

func TestFoldingStopsWhenFarAhead(t *testing.T) {
	s := newStage(t, opening.Plan{}, func(c *setup.Config) { c.BatchRecords = 256 })
	s.add(events.Reads, 5000)
	s.step()
	if n := len(s.fold.folded); n < 4*256 || n >= 4*256+2*lockRecords {
		t.Errorf("%d events are folded while the first set waits for its acknowledgement, want a little more than 4 batches", n)
	}
}

// TestFoldingStopsWhenManyUsersAreToBeTold: a few records may concern so many users that their
// deltas fill the memory.
func TestFoldingStopsWhenManyUsersAreToBeTold(t *testing.T) {
	s := newStage(t, opening.Plan{}, func(c *setup.Config) { c.BatchTime, c.FanoutDelay = time.Hour, time.Hour })
	s.fold.users = s.w.cfg.UndrainedPairs / 1000
	s.add(events.Reads, 5000)
	s.step()
	if n := len(s.fold.folded); n < 2*1000 || n >= 2*(1000+2*lockRecords) || len(s.sent) != 1 {
		t.Errorf("%d records of %d users each are folded, %d sets are published; want two times about 1,000, one of them published", n,
			s.fold.users, len(s.sent))
	}
	for len(s.fold.folded) < 5000 && len(s.sent) > 0 {
		s.sent = nil
		s.ack()
		s.step()
	}
	if n := len(s.fold.folded); n != 5000 {
		t.Errorf("%d records are folded when nothing is in the way, want 5000", n)
	}
}

func TestFailedPublishAborts(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	s.add(events.Reads, 5)
	s.step()
	s.w.Inbox.PublishDone(errors.New("no right to write"))
	if !s.step() || !strings.Contains(s.w.Failed().Error(), "no right to write") {
		t.Errorf("failed with %v", s.w.Failed())
	}
}

func TestPanicParksThePartition(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	s.fold.panicAt = 3
	s.add(events.Messages, 10)
	if !s.step() {
		t.Fatal("the partition goes on")
	}
	if err := s.w.Failed(); !strings.Contains(err.Error(), "chat.messages/0 at offset 3") || !strings.Contains(err.Error(), "boom") {
		t.Errorf("error %.120q does not name the record and the panic", err)
	}
	if len(s.sent) != 0 || s.fold.cuts != 0 || len(s.acked) != 0 {
		t.Error("something of a broken fold was published, stored or committed")
	}
	if !s.fold.TryLock() {
		t.Error("the lock is still held")
	}
}

// TestBadRecordsAreNotALineEach: a broken producer fills the dead letters, but not the disk of the
// log file.
func TestBadRecordsAreNotALineEach(t *testing.T) {
	var log testkit.Output
	s := newStage(t, opening.Plan{}, func(c *setup.Config) { c.Breaker = setup.Breaker{Off: true} })
	s.w.log = slog.New(slog.NewTextHandler(&log, nil))
	add := func(n int) {
		var records []*kgo.Record
		for range n {
			records = append(records, s.record(events.Messages, []byte{0xff}))
		}
		s.w.Inbox.Fetch(events.Messages, records, s.next[events.Messages])
		s.step()
	}
	lines := func() int { return strings.Count(log.String(), "bad record goes to the dead letters") }
	add(1)
	s.step()
	if lines() != 1 {
		t.Errorf("%d lines about the first bad record: %s", lines(), &log)
	}
	for range 5 {
		add(50)
	}
	if lines() != 1 {
		t.Errorf("%d lines within a second", lines())
	}
	s.now = s.now.Add(time.Second)
	s.step()
	if message := log.String(); lines() != 2 || !strings.Contains(message, "count=250") || !strings.Contains(message, "offset=250") {
		t.Errorf("after a second: %s", message)
	}
	add(3)
	s.w.bad.Rest(s.w.logBad) // as finish does
	if message := log.String(); lines() != 3 || !strings.Contains(message, "count=3") {
		t.Errorf("at the end: %s", message)
	}
}
